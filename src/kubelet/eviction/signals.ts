/** What a node may have too little of, how much there is of it, and what the node says then. */
import type { FileSystemFacts } from '#base/host.ts'

export const signals = [
  'memory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'pid.available',
] as const
export type Signal = (typeof signals)[number]

export type PressureCondition = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure'

/** The node as a whole; cheap to find out. */
export type NodeLevels = {
  memory: { capacityBytes: number; availableBytes: number }
  fs: FileSystemFacts
  imageFs: FileSystemFacts
  processes: { most: number; current: number }
}

export type Observation = { available: number; capacity: number }

export function observe({ memory, fs, imageFs, processes }: NodeLevels): Record<Signal, Observation> {
  const space = ({ availableBytes, capacityBytes }: FileSystemFacts) => ({ available: availableBytes, capacity: capacityBytes })
  const inodes = ({ inodesFree, inodes: all }: FileSystemFacts) => ({ available: inodesFree, capacity: all })
  return {
    'memory.available': { available: memory.availableBytes, capacity: memory.capacityBytes },
    'nodefs.available': space(fs),
    'nodefs.inodesFree': inodes(fs),
    'imagefs.available': space(imageFs),
    'imagefs.inodesFree': inodes(imageFs),
    'pid.available': { available: processes.most - processes.current, capacity: processes.most },
  }
}

export const conditionOf = (signal: Signal): PressureCondition =>
  signal === 'memory.available' ? 'MemoryPressure' : signal === 'pid.available' ? 'PIDPressure' : 'DiskPressure'

/** What pods ask for and are said to be out of. */
export const resourceOf = (signal: Signal): string => {
  if (signal === 'memory.available') return 'memory'
  if (signal === 'pid.available') return 'pids'
  return signal.endsWith('inodesFree') ? 'inodes' : 'ephemeral-storage'
}
