import { DecayingHistogram, type HistogramCheckpoint } from '#controllers/vertical-pod-autoscaler/histogram.ts'

export const dayMs = 24 * 3_600_000
const minSampleWeight = 0.1
const shared = { ratio: 1.05, epsilon: 0.001 * minSampleWeight, halfLifeMs: dayMs }

export type HistoryCheckpoint = {
  cpu: HistogramCheckpoint
  memory: HistogramCheckpoint
  firstMs: number
  lastMs: number
  samples: number
}

/** What the containers of one name have used, of all pods of an autoscaler. CPU in cores, memory in bytes. */
export class UsageHistory {
  readonly cpu = new DecayingHistogram({ ...shared, maxValue: 1000, firstBucketSize: 0.01 })
  readonly memory = new DecayingHistogram({ ...shared, maxValue: 1e12, firstBucketSize: 1e7 })
  firstMs: number | undefined
  lastMs = 0
  samples = 0

  addCpu(cores: number, requestCores: number, atMs: number): void {
    this.cpu.add(cores, Math.max(requestCores, minSampleWeight), atMs)
    this.firstMs = Math.min(this.firstMs ?? atMs, atMs)
    this.lastMs = Math.max(this.lastMs, atMs)
    this.samples++
  }

  get isEmpty(): boolean {
    return this.samples === 0
  }

  /** In days of one sample a minute. */
  get confidence(): number {
    return Math.min((this.lastMs - (this.firstMs ?? this.lastMs)) / dayMs, this.samples / (24 * 60))
  }

  save(): HistoryCheckpoint {
    return { cpu: this.cpu.save(), memory: this.memory.save(), firstMs: this.firstMs ?? 0, lastMs: this.lastMs, samples: this.samples }
  }

  static load({ cpu, memory, firstMs, lastMs, samples }: HistoryCheckpoint): UsageHistory {
    const history = new UsageHistory()
    history.cpu.load(cpu)
    history.memory.load(memory)
    history.firstMs = firstMs
    history.lastMs = lastMs
    history.samples = samples
    return history
  }
}

const oomBumpRatio = 1.2
const oomMinBumpBytes = 100 * 1024 * 1024

/** One container of one pod: of its memory, the peak of each day counts. */
export class ContainerUsage {
  #lastCpuMs = 0
  #lastMemoryMs = 0
  #windowEndMs = 0
  #peakBytes = 0

  addCpu(history: UsageHistory, cores: number, requestCores: number, atMs: number): void {
    if (atMs <= this.#lastCpuMs) return
    this.#lastCpuMs = atMs
    history.addCpu(cores, requestCores, atMs)
  }

  addMemory(history: UsageHistory, bytes: number, atMs: number): void {
    if (atMs < this.#lastMemoryMs) return
    this.#lastMemoryMs = atMs
    this.#windowEndMs ||= atMs
    if (atMs < this.#windowEndMs) {
      if (bytes <= this.#peakBytes) return
      history.memory.subtract(this.#peakBytes, 1, this.#windowEndMs)
    } else this.#windowEndMs += Math.floor((atMs - this.#windowEndMs) / dayMs) * dayMs + dayMs
    this.#peakBytes = bytes
    history.memory.add(bytes, 1, this.#windowEndMs)
  }

  /** It would have used more, had it been given it. */
  addOutOfMemory(history: UsageHistory, requestBytes: number, atMs: number): void {
    if (this.#windowEndMs !== 0 && atMs < this.#windowEndMs - dayMs) return
    const used = Math.max(requestBytes, this.#peakBytes)
    this.addMemory(history, Math.max(used + oomMinBumpBytes, used * oomBumpRatio), Math.max(atMs, this.#lastMemoryMs))
  }
}
