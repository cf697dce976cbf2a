/** What the machine says of itself to those who run things on it. */
import { readdir, readFile, statfs } from 'node:fs/promises'
import { arch, availableParallelism, release, totalmem } from 'node:os'

export type HostFacts = {
  cores: number
  memoryBytes: number
  swapBytes: number
  kernelVersion: string
  /** As people call it: `Debian GNU/Linux 12 (bookworm)`. */
  osImage: string
  operatingSystem: string
  /** As Go calls it: `amd64`. */
  architecture: string
  machineId: string
  systemUuid: string
  bootId: string
  /** By page size in KiB. */
  hugePages: Map<number, number>
}

export type FileSystemFacts = {
  capacityBytes: number
  availableBytes: number
  usedBytes: number
  inodes: number
  inodesFree: number
  inodesUsed: number
}

export type Host = {
  facts(): Promise<HostFacts>
  /** The one that holds the path. */
  fileSystem(path: string): Promise<FileSystemFacts>
}

export const thisHost: Host = {
  async facts() {
    const [osRelease, machineId, productUuid, bootId, memory, hugePages] = await Promise.all([
      textOf('/etc/os-release'),
      firstOf('/etc/machine-id', '/var/lib/dbus/machine-id'),
      firstOf('/sys/class/dmi/id/product_uuid', '/proc/device-tree/vm,uuid'),
      textOf('/proc/sys/kernel/random/boot_id'),
      textOf('/proc/meminfo'),
      hugePagesOf('/sys/kernel/mm/hugepages'),
    ])
    return {
      cores: availableParallelism(),
      memoryBytes: kibibytes(memory, 'MemTotal') ?? totalmem(),
      swapBytes: kibibytes(memory, 'SwapTotal') ?? 0,
      kernelVersion: release(),
      osImage: /^PRETTY_NAME="?(.*?)"?$/m.exec(osRelease)?.[1] ?? process.platform,
      operatingSystem: process.platform === 'win32' ? 'windows' : process.platform,
      architecture: arch() === 'x64' ? 'amd64' : arch(),
      machineId: machineId.trim(),
      systemUuid: productUuid.trim().toLowerCase() || machineId.trim(),
      bootId: bootId.trim(),
      hugePages,
    }
  },
  async fileSystem(path) {
    const { bsize, blocks, bavail, bfree, files, ffree } = await statfs(path)
    return {
      ...{ capacityBytes: blocks * bsize, availableBytes: bavail * bsize, usedBytes: (blocks - bfree) * bsize },
      ...{ inodes: files, inodesFree: ffree, inodesUsed: files - ffree },
    }
  },
}

// A file that this kernel does not have says nothing.
const textOf = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '')

async function firstOf(...paths: string[]): Promise<string> {
  for (const path of paths) {
    const text = await textOf(path)
    if (text.trim() !== '') return text
  }
  return ''
}

function kibibytes(memory: string, name: string): number | undefined {
  const amount = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(memory)?.[1]
  return amount === undefined ? undefined : Number(amount) * 1024
}

async function hugePagesOf(directory: string): Promise<Map<number, number>> {
  const sizes = new Map<number, number>()
  // Kernels without huge pages have no such directory.
  for (const name of await readdir(directory).catch(() => [])) {
    const size = Number(/^hugepages-(\d+)kB$/.exec(name)?.[1])
    if (size > 0) sizes.set(size, Number(await textOf(`${directory}/${name}/nr_hugepages`)) || 0)
  }
  return sizes
}
