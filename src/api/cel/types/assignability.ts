/** Whether a value of one type may stand where another is wanted, and what that says about types that are not known yet. */
import { type CelType, dyn, isDyn, isDynOrError, parametersOf, sameType } from '#api/cel/types/cel-type.ts'

/** What type parameters stand for, as far as it is known. */
export class Substitutions {
  readonly #types: Map<string, CelType>

  constructor(types: Iterable<readonly [string, CelType]> = []) {
    this.#types = new Map(types)
  }

  copy(): Substitutions {
    return new Substitutions(this.#types)
  }
  find(type: CelType): CelType | undefined {
    return type.kind === 'parameter' ? this.#types.get(type.name) : undefined
  }
  set(type: CelType, to: CelType): void {
    if (type.kind === 'parameter') this.#types.set(type.name, to)
  }

  /** The type with what is known put in; with `toDyn` nothing unknown is left. */
  apply(type: CelType, toDyn: boolean): CelType {
    const known = this.find(type)
    if (known !== undefined) return this.apply(known, toDyn)
    switch (type.kind) {
      case 'parameter':
        return toDyn ? dyn : type
      case 'list':
        return { kind: 'list', element: this.apply(type.element, toDyn) }
      case 'map':
        return { kind: 'map', key: this.apply(type.key, toDyn), value: this.apply(type.value, toDyn) }
      case 'type':
        return type.of === undefined ? type : { kind: 'type', of: this.apply(type.of, toDyn) }
      case 'opaque':
        return { ...type, parameters: type.parameters.map((each) => this.apply(each, toDyn)) }
      default:
        return type
    }
  }

  /** Learns from the assignment when it is possible, and changes nothing when it is not. */
  assign(wanted: readonly CelType[], given: readonly CelType[]): Substitutions | undefined {
    if (wanted.length !== given.length) return undefined
    const trial = this.copy()
    return wanted.every((type, index) => trial.#fits(type, given[index] as CelType)) ? trial : undefined
  }

  #fits(one: CelType, other: CelType): boolean {
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
      if (!this.#occursIn(unknown, general)) this.set(unknown, general)
      return { isValid: true, wasKnown: true }
    }
    if (this.#occursIn(unknown, type)) return { isValid: false, wasKnown: false }
    this.set(unknown, type)
    return { isValid: true, wasKnown: false }
  }

  #occursIn(unknown: CelType, type: CelType): boolean {
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
