"""What a benchmark says of the machine it ran on."""
import os
import pathlib
import platform
import re
import time


def machine():
    cpu = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return dict(cpu=cpu[1] if cpu else platform.processor(), cores=os.cpu_count(), date=time.strftime("%Y-%m-%d"),
                load=round(os.getloadavg()[0], 2))
