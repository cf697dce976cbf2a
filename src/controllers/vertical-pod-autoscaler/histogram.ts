/** A histogram whose buckets grow by a ratio and whose weights halve with time, as upstream's recommender keeps it. */

export type HistogramOptions = { maxValue: number; firstBucketSize: number; ratio: number; epsilon: number; halfLifeMs: number }
export type HistogramCheckpoint = { referenceMs: number; bucketWeights: Record<string, number>; totalWeight: number }

const maxExponent = 100
const maxCheckpointWeight = 10_000

export class DecayingHistogram {
  readonly #options: HistogramOptions
  readonly #weights: number[]
  #total = 0
  #referenceMs: number | undefined

  constructor(options: HistogramOptions) {
    this.#options = options
    const { maxValue, firstBucketSize, ratio } = options
    const count = Math.ceil(Math.log(1 + (maxValue * (ratio - 1)) / firstBucketSize) / Math.log(ratio)) + 1
    this.#weights = new Array<number>(count).fill(0)
  }

  add(value: number, weight: number, atMs: number): void {
    const amount = weight * this.#factor(atMs)
    this.#total += amount
    const bucket = this.#bucketOf(value)
    this.#weights[bucket] = (this.#weights[bucket] ?? 0) + amount
  }

  subtract(value: number, weight: number, atMs: number): void {
    const amount = weight * this.#factor(atMs)
    const bucket = this.#bucketOf(value)
    this.#total = Math.max(0, this.#total - amount)
    this.#weights[bucket] = Math.max(0, (this.#weights[bucket] ?? 0) - amount)
  }

  get isEmpty(): boolean {
    return !this.#weights.some((weight) => weight >= this.#options.epsilon)
  }

  /** The end of the bucket in which so much of the weight is reached. */
  percentile(share: number): number {
    if (this.isEmpty) return 0
    const last = this.#weights.findLastIndex((weight) => weight >= this.#options.epsilon)
    let sum = 0
    let bucket = 0
    for (; bucket < last; bucket++) {
      sum += this.#weights[bucket] ?? 0
      if (sum >= share * this.#total) break
    }
    return this.#startOf(bucket < this.#weights.length - 1 ? bucket + 1 : bucket)
  }

  save(): HistogramCheckpoint {
    const most = this.#weights.reduce((max, weight) => Math.max(max, weight), 0)
    const bucketWeights: Record<string, number> = {}
    for (const [bucket, weight] of this.#weights.entries()) {
      const scaled = most === 0 ? 0 : Math.round((weight / most) * maxCheckpointWeight)
      if (scaled > 0) bucketWeights[bucket] = scaled
    }
    return { referenceMs: this.#referenceMs ?? 0, bucketWeights, totalWeight: this.#total }
  }

  load({ referenceMs, bucketWeights, totalWeight }: HistogramCheckpoint): void {
    const sum = Object.values(bucketWeights).reduce((total, weight) => total + weight, 0)
    for (const [bucket, weight] of Object.entries(bucketWeights)) {
      const index = Number(bucket)
      if (index >= 0 && index < this.#weights.length) this.#weights[index] = (this.#weights[index] ?? 0) + (weight * totalWeight) / sum
    }
    this.#total += totalWeight
    this.#referenceMs = referenceMs
  }

  #bucketOf(value: number): number {
    const { firstBucketSize, ratio } = this.#options
    if (value < firstBucketSize) return 0
    const bucket = Math.floor(Math.log((value * (ratio - 1)) / firstBucketSize + 1) / Math.log(ratio))
    return Math.min(bucket, this.#weights.length - 1)
  }

  #startOf(bucket: number): number {
    const { firstBucketSize, ratio } = this.#options
    return bucket === 0 ? 0 : (firstBucketSize * (ratio ** bucket - 1)) / (ratio - 1)
  }

  /** Later samples weigh more; the scale is moved before the numbers get out of hand. */
  #factor(atMs: number): number {
    const { halfLifeMs } = this.#options
    this.#referenceMs ??= Math.floor(atMs / halfLifeMs) * halfLifeMs
    if (atMs > this.#referenceMs + maxExponent * halfLifeMs) {
      const next = Math.round(atMs / halfLifeMs) * halfLifeMs
      const scale = 2 ** ((this.#referenceMs - next) / halfLifeMs)
      for (const [bucket, weight] of this.#weights.entries()) this.#weights[bucket] = weight * scale
      this.#total *= scale
      this.#referenceMs = next
    }
    return 2 ** ((atMs - this.#referenceMs) / halfLifeMs)
  }
}
