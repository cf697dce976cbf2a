/** What the launch program shall do: system calls in order, and the memory that they look at. */
import { systemCallNumbers } from '#base/system-call-numbers.ts'
import { type Architecture, scriptAddress, scriptMostBytes, stepBytes } from '#runtime/launch/launch-program.ts'

/** A place in the script's memory, or a step, whose address is known when the script is written. */
export type Place = { readonly kind: 'memory' | 'step'; at: number }
export type ScriptArgument = number | bigint | string | Place

export type StepOptions = {
  /** What a failure is called in the message; the call's name where absent. */
  what?: string
  /** Where to go on after a failure; `next` ignores it. Without one the program ends. */
  onError?: Place | 'next'
  /** Where in memory the result goes. */
  result?: Place
}

type Step = { name: string; number: number; args: Exclude<ScriptArgument, string>[]; options: StepOptions }

const words = { onError: 0, call: 1, firstArgument: 2, result: 8 }

export class LaunchScript {
  readonly #numbers: ReadonlyMap<string, number>
  readonly #steps: Step[] = []
  readonly #memory: Buffer[] = []
  #memoryBytes = 0
  readonly #texts = new Map<string, Place>()
  readonly #pointers: { at: number; place: Place }[] = []
  readonly #feeds = new Map<number, { step: Place; argument: number }>()
  readonly #nowhere: Place

  constructor(architecture: Architecture) {
    this.#numbers = systemCallNumbers(architecture)
    this.#nowhere = this.word()
  }

  /** Texts are given as they are. Resolves to the step. */
  call(name: string, args: readonly ScriptArgument[], options: StepOptions = {}): Place {
    const number = this.#numbers.get(name)
    if (number === undefined) throw new Error(`there is no system call ${name}`)
    this.#steps.push({ name, number, args: args.map((arg) => (typeof arg === 'string' ? this.text(arg) : arg)), options })
    this.#mustFit(0)
    return { kind: 'step', at: this.#steps.length - 1 }
  }

  /** Goes on at the target where both hold the same. */
  jumpIfEqual(one: Place, other: Place, target: Place): void {
    this.#steps.push({ name: 'compare', number: -1, args: [one, other, target], options: {} })
  }

  jump(target: Place): void {
    this.jumpIfEqual(this.#nowhere, this.#nowhere, target)
  }

  /** The result of one step is an argument of a later one. */
  feed(from: Place, to: Place, argument: number): void {
    this.#feeds.set(from.at, { step: to, argument })
  }

  /** The step that comes next. */
  here(): Place {
    return { kind: 'step', at: this.#steps.length }
  }

  /** A step that is not known yet; `settle` it before the script is written. */
  later(): Place {
    return { kind: 'step', at: -1 }
  }

  settle(place: Place): void {
    place.at = this.#steps.length
  }

  /** Eight bytes of memory. */
  word(value: number | bigint = 0): Place {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(BigInt(value))
    return this.bytes(bytes)
  }

  bytes(content: Uint8Array): Place {
    this.#mustFit(content.length)
    const padded = Buffer.alloc(Math.ceil(content.length / 8) * 8)
    padded.set(content)
    const place: Place = { kind: 'memory', at: this.#memoryBytes }
    this.#memory.push(padded)
    this.#memoryBytes += padded.length
    return place
  }

  text(value: string): Place {
    const known = this.#texts.get(value)
    if (known !== undefined) return known
    const place = this.#endedByZero(value)
    this.#texts.set(value, place)
    return place
  }

  /** An array of addresses of texts, ended by 0: what programs are given. */
  texts(values: readonly string[]): Place {
    const places = values.map((value) => this.#endedByZero(value))
    return this.pointers([...places, undefined])
  }

  /** An array of addresses. */
  pointers(places: readonly (Place | undefined)[]): Place {
    const array = this.bytes(Buffer.alloc(8 * places.length))
    for (const [index, place] of places.entries()) if (place !== undefined) this.#pointers.push({ at: array.at + 8 * index, place })
    return array
  }

  /** Memory that holds the address of other memory. */
  pointTo(array: Place, offset: number, place: Place): void {
    this.#pointers.push({ at: array.at + offset, place })
  }

  /** What is called how at which address, for failures that the program tells of. */
  labelAt(address: number): { call: string; what: string } {
    const step = this.#steps[(address - scriptAddress) / stepBytes]
    return { call: step?.name ?? 'launch', what: step?.options.what ?? step?.name ?? 'launch' }
  }

  write(): Buffer {
    const memoryAt = this.#steps.length * stepBytes
    const all = Buffer.alloc(memoryAt + this.#memoryBytes)
    const address = (place: Place): bigint => BigInt(scriptAddress + (place.kind === 'step' ? place.at * stepBytes : memoryAt + place.at))
    for (const [index, { number, args, options }] of this.#steps.entries()) {
      const put = (word: number, value: bigint) => all.writeBigInt64LE(BigInt.asIntN(64, value), index * stepBytes + word * 8)
      const { onError, result = this.#nowhere } = options
      put(words.onError, onError === undefined ? 0n : address(onError === 'next' ? { kind: 'step', at: index + 1 } : onError))
      put(words.call, BigInt(number))
      for (const [at, arg] of args.entries()) put(words.firstArgument + at, typeof arg === 'object' ? address(arg) : BigInt(arg))
      const fed = this.#feeds.get(index)
      put(words.result, fed === undefined ? address(result) : address(fed.step) + BigInt(8 * (words.firstArgument + fed.argument)))
    }
    let at = memoryAt
    for (const piece of this.#memory) {
      all.set(piece, at)
      at += piece.length
    }
    for (const pointer of this.#pointers) all.writeBigInt64LE(address(pointer.place), memoryAt + pointer.at)
    return all
  }

  #endedByZero(value: string): Place {
    if (value.includes('\0')) throw new Error('a text with a zero in it cannot be told to the kernel')
    this.#mustFit(value.length)
    return this.bytes(Buffer.from(`${value}\0`))
  }

  /** The program maps no more; and whoever describes a container in a few bytes must not make it many. */
  #mustFit(moreBytes: number): void {
    if (this.#steps.length * stepBytes + this.#memoryBytes + moreBytes > scriptMostBytes - 8)
      throw new Error(`what it takes to start the process is more than ${scriptMostBytes} bytes`)
  }
}
