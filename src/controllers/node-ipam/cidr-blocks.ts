/** Blocks of equal size out of a range of addresses. */
import { ipText, parseCidr } from '#api/meta/ip.ts'

/** Hears what becomes of the blocks. `tries` is how many were taken before the one that was handed out; absent for those that were there. */
export type BlockListener = { took(tries?: number): void; released(): void; changed(used: number, most: number): void }

export class CidrBlocks {
  readonly #base: bigint
  readonly #bits: number
  readonly #mask: number
  readonly #count: bigint
  readonly #used = new Set<bigint>()
  #next = 0n
  readonly #listener: BlockListener | undefined

  /** Throws when the range is none, or smaller than one block. */
  constructor(range: string, mask: number, listener?: BlockListener) {
    this.#listener = listener
    const cidr = parseCidr(range)
    if (cidr === undefined) throw new Error(`${range} is not a valid range of addresses`)
    this.#bits = range.includes(':') ? 128 : 32
    const prefix = Number(range.slice(range.indexOf('/') + 1))
    if (mask < prefix || mask > this.#bits) throw new Error(`blocks of /${mask} do not fit into ${range}`)
    this.#mask = mask
    this.#count = 1n << BigInt(mask - prefix)
    const size = BigInt(this.#bits - prefix)
    this.#base = (addressValue(range.slice(0, range.indexOf('/')), this.#bits) >> size) << size
  }

  get isIpv6(): boolean {
    return this.#bits === 128
  }

  /** Takes a block, or every block that a range touches, out of what is handed out. Ranges of other families are ignored. */
  occupy(range: string): void {
    if (range.includes(':') !== this.isIpv6) return
    const prefix = Number(range.slice(range.indexOf('/') + 1))
    const first = addressValue(range.slice(0, range.indexOf('/')), this.#bits)
    const last = first + (1n << BigInt(this.#bits - prefix)) - 1n
    const size = BigInt(this.#bits - this.#mask)
    const start = (first - this.#base) >> size
    const end = (last - this.#base) >> size
    for (let index = start < 0n ? 0n : start; index <= end && index < this.#count; index++) {
      if (this.#used.has(index)) continue
      this.#used.add(index)
      this.#listener?.took()
    }
    this.#tell()
  }

  release(range: string): void {
    if (range.includes(':') !== this.isIpv6) return
    const index = (addressValue(range.slice(0, range.indexOf('/')), this.#bits) - this.#base) >> BigInt(this.#bits - this.#mask)
    if (this.#used.delete(index)) this.#listener?.released()
    this.#tell()
  }

  /** Undefined when all are taken. Blocks that came back are used last. */
  take(): string | undefined {
    for (let tries = 0n; tries < this.#count; tries++) {
      const index = this.#next
      this.#next = (this.#next + 1n) % this.#count
      if (this.#used.has(index)) continue
      this.#used.add(index)
      this.#listener?.took(Number(tries))
      this.#tell()
      return `${textOf(this.#base + (index << BigInt(this.#bits - this.#mask)), this.#bits)}/${this.#mask}`
    }
    return undefined
  }

  #tell(): void {
    this.#listener?.changed(this.#used.size, Number(this.#count))
  }
}

function addressValue(address: string, bits: number): bigint {
  const bytes = parseCidr(`${address}/${bits}`)?.ip ?? new Uint8Array()
  const relevant = bytes.length === 16 && bits === 32 ? bytes.subarray(12) : bytes
  return BigInt(`0x${Buffer.from(relevant).toString('hex') || '0'}`)
}

function textOf(value: bigint, bits: number): string {
  const hex = value.toString(16).padStart(bits / 4, '0')
  return ipText(new Uint8Array(Buffer.from(bits === 32 ? `${'00'.repeat(10)}ffff${hex}` : hex, 'hex')))
}
