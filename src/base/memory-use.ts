import { getHeapStatistics } from 'node:v8'

export type MemoryUse = {
  /** Measured when it is asked for: the kernel may take a millisecond to tell. */
  readonly residentBytes: number
  heapUsedBytes: number
  /** Where the process ends for want of memory. */
  heapLimitBytes: number
}

export type MeasureMemory = () => MemoryUse

export const memoryOfProcess: MeasureMemory = () => {
  const { used_heap_size: heapUsedBytes, heap_size_limit: heapLimitBytes } = getHeapStatistics()
  return {
    get residentBytes() {
      return process.memoryUsage.rss()
    },
    heapUsedBytes,
    heapLimitBytes,
  }
}
