/** Whether a value of one type may stand where another is wanted, and what that says about types that are not known yet. */
import { type CelType, dyn, isDyn, isDynOrError, parametersOf, sameType } from '#api/cel/types/cel-type.ts'

/** Types that hold one another many times over: text of a kilobyte can say a type of millions of parts. */
export class TypeTooLarge extends Error {
  override name = 'TypeTooLarge'
}

/** Parts of one type, what it stands for put in. */
const mostParts = 5000
/** Parts that are looked at while one expression is checked; a long one may have more. */
const fewestLooks = 200_000
const looksEachCharacter = 200

/** What type parameters stand for, as far as it is known. Throws `TypeTooLarge`. */
export class Substitutions {
  readonly #types: Map<string, CelType>
  /** What was there before each change of the assignment that is tried. */
  #undo: [name: string, before: CelType | undefined][] = []
  #looksLeft: number

  constructor(types: Iterable<readonly [string, CelType]> = [], textLength = 0) {
    this.#types = new Map(types)
    this.#looksLeft = fewestLooks + looksEachCharacter * textLength
  }

  find(type: CelType): CelType | undefined {
    return type.kind === 'parameter' ? this.#types.get(type.name) : undefined
  }
  #set(type: CelType, to: CelType): void {
    if (type.kind !== 'parameter') return
    this.#undo.push([type.name, this.#types.get(type.name)])
    this.#types.set(type.name, to)
  }
  #look(): void {
    if (--this.#looksLeft < 0) throw new TypeTooLarge('the types of the expression are too large')
  }

  /** The type with what is known put in; with `toDyn` nothing unknown is left. The same one where nothing changes. */
  apply(type: CelType, toDyn: boolean): CelType {
    return this.#apply(type, toDyn, { parts: 0 })
  }

  #apply(type: CelType, toDyn: boolean, count: { parts: number }): CelType {
    this.#look()
    if (++count.parts > mostParts) throw new TypeTooLarge('the type of a part of the expression is too large')
    const known = this.find(type)
    if (known !== undefined) return this.#apply(known, toDyn, count)
    switch (type.kind) {
      case 'parameter':
        return toDyn ? dyn : type
      case 'list': {
        const element = this.#apply(type.element, toDyn, count)
        return element === type.element ? type : { kind: 'list', element }
      }
      case 'map': {
        const key = this.#apply(type.key, toDyn, count)
        const value = this.#apply(type.value, toDyn, count)
        return key === type.key && value === type.value ? type : { kind: 'map', key, value }
      }
      case 'type': {
        if (type.of === undefined) return type
        const of = this.#apply(type.of, toDyn, count)
        return of === type.of ? type : { kind: 'type', of }
      }
      case 'opaque': {
        const parameters = type.parameters.map((each) => this.#apply(each, toDyn, count))
        return parameters.every((each, index) => each === type.parameters[index]) ? type : { ...type, parameters }
      }
      default:
        return type
    }
  }

  /** Learns from the assignment when it is possible, and changes nothing when it is not. */
  assign(wanted: readonly CelType[], given: readonly CelType[]): boolean {
    if (wanted.length !== given.length) return false
    this.#undo = []
    if (wanted.every((type, index) => this.#fits(type, given[index] as CelType))) return true
    for (const [name, before] of this.#undo.reverse()) {
      if (before === undefined) this.#types.delete(name)
      else this.#types.set(name, before)
    }
    return false
  }

  #fits(one: CelType, other: CelType): boolean {
    this.#look()
    if (other.kind === 'parameter') {
      const { isValid, wasKnown } = this.#standsFor(other, one)
      if (isValid) return true
      if (wasKnown) return false
    }
    if (one.kind === 'parameter') return this.#standsFor(one, other).isValid
    if (isDynOrError(one) || isDynOrError(other)) return true
    if (one.kind === 'null') return isNullable(other)
    if (other.kind === 'null') return isNullable(one)
    switch (one.kind) {
      case 'type':
        return other.kind === 'type'
      case 'list':
      case 'map':
      case 'opaque': {
        if (one.kind !== other.kind || (one.kind === 'opaque' && other.kind === 'opaque' && one.name !== other.name)) return false
        const theirs = parametersOf(other)
        const ours = parametersOf(one)
        return ours.length === theirs.length && ours.every((each, index) => this.#fits(each, theirs[index] as CelType))
      }
      default:
        return sameType(unwrapped(one), unwrapped(other))
    }
  }

  #standsFor(unknown: CelType, type: CelType): { isValid: boolean; wasKnown: boolean } {
    if (sameType(unknown, type)) return { isValid: true, wasKnown: true }
    const known = this.find(unknown)
    if (known !== undefined) {
      if (sameType(known, type)) return { isValid: true, wasKnown: true }
      if (!this.#fits(type, known)) return { isValid: false, wasKnown: true }
      const general = mostGeneral(type, known)
      if (!this.#occursIn(unknown, general)) this.#set(unknown, general)
      return { isValid: true, wasKnown: true }
    }
    if (this.#occursIn(unknown, type)) return { isValid: false, wasKnown: false }
    this.#set(unknown, type)
    return { isValid: true, wasKnown: false }
  }

  #occursIn(unknown: CelType, type: CelType): boolean {
    this.#look()
    if (sameType(unknown, type)) return true
    if (type.kind === 'parameter') {
      const known = this.find(type)
      return known !== undefined && this.#occursIn(unknown, known)
    }
    return parametersOf(type).some((each) => this.#occursIn(unknown, each))
  }
}

const unwrapped = (type: CelType): CelType => (type.kind === 'wrapper' ? type.of : type)

function isNullable({ kind }: CelType): boolean {
  return ['null', 'opaque', 'struct', 'any', 'duration', 'timestamp', 'wrapper'].includes(kind)
}

export function mostGeneral(one: CelType, other: CelType): CelType {
  return isAsGeneral(one, other) ? one : other
}

function isAsGeneral(one: CelType, other: CelType): boolean {
  if (isDyn(one) || one.kind === 'parameter') return true
  if (isDyn(other) || other.kind === 'parameter' || one.kind !== other.kind) return false
  if (one.kind === 'type') return true
  if (one.kind === 'opaque' && other.kind === 'opaque' && one.name !== other.name) return false
  const ours = parametersOf(one)
  const theirs = parametersOf(other)
  if (ours.length === 0) return sameType(one, other)
  return ours.length === theirs.length && ours.every((each, index) => isAsGeneral(each, theirs[index] as CelType))
}
