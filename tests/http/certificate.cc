#include "tests/http/certificate.h"

#include <cstdio>
#include <cstdlib>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace banyan::http {
namespace {

template <typename T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

Owned<X509> Sign(EVP_PKEY* key, const std::string& names) {
  constexpr long kHour = 3600;
  Owned<X509> certificate(::X509_new(), &::X509_free);
  X509* const x509 = certificate.get();
  ::X509_set_version(x509, X509_VERSION_3);
  ::ASN1_INTEGER_set(::X509_get_serialNumber(x509), 1);
  ::X509_gmtime_adj(::X509_getm_notBefore(x509), -kHour);
  ::X509_gmtime_adj(::X509_getm_notAfter(x509), kHour);
  ::X509_set_pubkey(x509, key);
  X509_NAME* const name = ::X509_get_subject_name(x509);
  ::X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("a test"), -1, -1, 0);
  ::X509_set_issuer_name(x509, name);
  const Owned<X509_EXTENSION> extension(
      ::X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names.c_str()),
      &::X509_EXTENSION_free);
  EXPECT_NE(extension, nullptr) << names;
  ::X509_add_ext(x509, extension.get(), -1);
  EXPECT_GT(::X509_sign(x509, key, ::EVP_sha256()), 0);
  return certificate;
}

}  // namespace

Certificate::Certificate(const std::string& names) {
  const Owned<EVP_PKEY> key(::EVP_EC_gen("P-256"), &::EVP_PKEY_free);
  const Owned<X509> certificate = Sign(key.get(), names);
  context_.reset(::SSL_CTX_new(::TLS_server_method()));
  EXPECT_EQ(::SSL_CTX_use_certificate(context_.get(), certificate.get()), 1);
  EXPECT_EQ(::SSL_CTX_use_PrivateKey(context_.get(), key.get()), 1);

  file_ = testing::TempDir() + "banyan_certificate_XXXXXX";
  const int fd = ::mkstemp(file_.data());
  std::FILE* const file = ::fdopen(fd, "w");
  EXPECT_EQ(::PEM_write_X509(file, certificate.get()), 1);
  std::fclose(file);
}

Certificate::~Certificate() { ::unlink(file_.c_str()); }

}  // namespace banyan::http
