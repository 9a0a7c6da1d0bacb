#!/usr/bin/env python3
"""Boots a guest with two NUMA nodes and a network card on each, and runs check_nodes in it.

  two_node_test.py CHECK_NODES WORK_FOLDER

The guest is emulated whole (TCG), so nothing of the host's is needed but qemu; it has an emulated
IOMMU, so the cards are driven by vfio-pci as real ones are. Kernel: the package of Debian's
linux-image-amd64, fetched once into WORK_FOLDER by `apt-get download` and not installed, or the
file that TIDEWIRE_KERNEL_DEB names. Exits 77 (skipped) where something of that is missing."""
import glob
import gzip
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
SKIP = 77
LIMIT_S = 400
MODULES = {"irqbypass", "vfio", "vfio_virqfd", "vfio_iommu_type1", "vfio-pci-core", "vfio-pci"}
NODE_MIB = 512


class Missing(Exception):
    """What this machine lacks."""


def find_tool(name, package):
    path = shutil.which(name)
    if not path:
        raise Missing(f"{name} (package {package})")
    return path


def kernel_package(work):
    named = os.environ.get("TIDEWIRE_KERNEL_DEB")
    if named:
        return named
    fetched = glob.glob(os.path.join(work, "linux-image-*.deb"))
    if not fetched:
        depends = subprocess.run(["apt-cache", "depends", "linux-image-amd64"], check=False,
                                 capture_output=True, text=True).stdout
        found = re.search(r"Depends: (linux-image-\S+)", depends)
        if not found:
            raise Missing("a kernel package: apt knows no linux-image-amd64 (apt-get update)")
        subprocess.run(["apt-get", "download", found[1]], cwd=work, check=False,
                       capture_output=True)
        fetched = glob.glob(os.path.join(work, "linux-image-*.deb"))
    if not fetched:
        raise Missing("a kernel package: apt-get download failed")
    return fetched[0]


def unpack_kernel(package, work):
    """The kernel's path, and the contents of the modules by name."""
    modules = {}
    image = os.path.join(work, "vmlinuz")
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package],
                          stdout=subprocess.PIPE) as unpacker:
        with tarfile.open(fileobj=unpacker.stdout, mode="r|") as files:
            for entry in files:
                name = os.path.basename(entry.name)
                if name.startswith("vmlinuz-"):
                    with open(image, "wb") as file:
                        file.write(files.extractfile(entry).read())
                elif name.endswith(".ko") and name[:-3] in MODULES:
                    modules[name] = files.extractfile(entry).read()
    lacking = MODULES - {name[:-3] for name in modules}
    if lacking:
        sys.exit(f"{package} has no module {sorted(lacking)}")
    return image, modules


class Archive:
    """An initial file system: a cpio archive in the format "newc" (cpio(5))."""

    def __init__(self, path):
        self.out = gzip.open(path, "wb", compresslevel=1)
        self.number = 0
        self.folders = set()

    def entry(self, name, mode, data=b""):
        self.number += 1
        fields = [self.number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
        head = b"070701" + b"".join(b"%08X" % field for field in fields)
        head += name.encode() + b"\0"
        self.out.write(head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4))

    def folder(self, name):
        if name and name not in self.folders:
            self.folder(os.path.dirname(name))
            self.folders.add(name)
            self.entry(name, stat.S_IFDIR | 0o755)

    def file(self, name, data, mode=0o755):
        self.folder(os.path.dirname(name))
        self.entry(name, stat.S_IFREG | mode, data)

    def close(self):
        self.entry("TRAILER!!!", 0)
        self.out.close()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def libraries(program):
    listed = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    return re.findall(r"(/\S+) \(0x", listed)


def build_guest(program, busybox, modules, work):
    path = os.path.join(work, "initramfs.gz")
    stripped = os.path.join(work, "check_nodes")
    subprocess.run(["strip", "-o", stripped, program], check=True)
    archive = Archive(path)
    for folder in ("proc", "sys", "dev", "tmp", "run", "var"):
        archive.folder(folder)
    archive.entry("dev/console", stat.S_IFCHR | 0o600)
    archive.file("bin/busybox", read(busybox))
    archive.file("bin/check_nodes", read(stripped))
    for library in libraries(program):
        archive.file(library[1:], read(library))
    for name, data in modules.items():
        archive.file(f"modules/{name}", data, 0o644)
    archive.file("init", read(os.path.join(HERE, "init")))
    archive.close()
    return path


def guest_command(qemu, kernel, initramfs):
    """Two sockets of two cores, each with its memory; a PCI root of its own on each, so that the
    card behind it belongs to the node; both cards on one hub, so that they hear each other."""
    command = [qemu, "-nodefaults", "-no-user-config", "-display", "none", "-serial", "stdio",
               "-no-reboot", "-machine", "q35,kernel-irqchip=split",
               # Never kvm, even where /dev/kvm is there: on a virtual machine it may hang.
               "-accel", "tcg,thread=multi,tb-size=256", "-cpu", "max,la57=off",
               "-smp", "4,sockets=2,cores=2,threads=1", "-m", str(2 * NODE_MIB),
               "-device", "intel-iommu,intremap=on,caching-mode=on,device-iotlb=on"]
    for node in (0, 1):
        bus = 0x40 * (node + 1)
        command += [
            "-object", f"memory-backend-ram,id=memory{node},size={NODE_MIB}M",
            "-numa", f"node,nodeid={node},cpus={2 * node}-{2 * node + 1},memdev=memory{node}",
            "-device", f"pxb-pcie,id=root{node},bus_nr={bus},numa_node={node},bus=pcie.0",
            "-device", f"pcie-root-port,id=slot{node},bus=root{node},chassis={node + 1}",
            "-netdev", f"hubport,id=net{node},hubid=1",
            "-device", f"e1000e,netdev=net{node},bus=slot{node},mac=02:00:00:00:00:0{node + 1}"]
    command += ["-numa", "dist,src=0,dst=1,val=21", "-kernel", kernel, "-initrd", initramfs,
                "-append", "console=ttyS0 quiet loglevel=3 panic=-1 nokaslr mitigations=off "
                           "intel_iommu=on iommu=pt tsc=reliable"]
    return command


def main():
    program, work = sys.argv[1:3]
    os.makedirs(work, exist_ok=True)
    try:
        qemu = find_tool("qemu-system-x86_64", "qemu-system-x86")
        busybox = find_tool("busybox", "busybox-static")
        find_tool("strip", "binutils")
        package = kernel_package(work)
    except Missing as missing:
        print(f"skipped: this machine lacks {missing}")
        return SKIP
    kernel, modules = unpack_kernel(package, work)
    initramfs = build_guest(program, busybox, modules, work)
    with subprocess.Popen(guest_command(qemu, kernel, initramfs), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as guest:
        try:
            said = guest.communicate(timeout=LIMIT_S)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            guest.kill()
            said = guest.communicate()[0].decode(errors="replace") + "\nFAILED: out of time\n"
    print(said)
    with open(os.path.join(work, "console.log"), "w", encoding="utf-8") as file:
        file.write(said)
    return 0 if "GUEST exit 0" in said and "FAILED" not in said else 1


if __name__ == "__main__":
    sys.exit(main())
