import { getHeapStatistics } from 'node:v8'

export type MemoryUse = {
  residentBytes: number
  heapUsedBytes: number
  /** Where the process ends for want of memory. */
  heapLimitBytes: number
}

export type MeasureMemory = () => MemoryUse

export const memoryOfProcess: MeasureMemory = () => {
  const { used_heap_size: heapUsedBytes, heap_size_limit: heapLimitBytes } = getHeapStatistics()
  return { residentBytes: process.memoryUsage.rss(), heapUsedBytes, heapLimitBytes }
}
