/** What expressions may call and name. */
import type { CelType } from '#api/cel/types/cel-type.ts'
import type { Value } from '#api/cel/values/value.ts'

/** `Value`s come in the order of `parameters`, the receiver first. May throw CelError. */
export type Implementation = (...args: Value[]) => Value

export type Overload = {
  readonly id: string
  readonly parameters: readonly CelType[]
  readonly result: CelType
  /** Called as `first.name(rest)`. */
  readonly isMember: boolean
  readonly call: Implementation
}

export type FunctionDeclaration = { readonly name: string; readonly overloads: readonly Overload[] }

/** `name(parameters)`. */
export const plain = (id: string, parameters: readonly CelType[], result: CelType, call: Implementation): Overload => ({
  id,
  parameters,
  result,
  isMember: false,
  call,
})
/** `parameters[0].name(parameters[1], …)`. */
export const member = (id: string, parameters: readonly CelType[], result: CelType, call: Implementation): Overload => ({
  id,
  parameters,
  result,
  isMember: true,
  call,
})

export const declare = (name: string, ...overloads: Overload[]): FunctionDeclaration => ({ name, overloads })

/** Types with fields. */
export type StructType = {
  readonly name: string
  /** Undefined for a field it does not have. */
  field(name: string): CelType | undefined
  /** Makes a value of it from `Name{field: value}`; those without it cannot be made. */
  make?(fields: ReadonlyMap<string, Value>): Value
}

export type TypeProvider = {
  struct(name: string): StructType | undefined
  /** Names that stand for types: `int`, `kubernetes.Quantity`. */
  typeNamed(name: string): CelType | undefined
}
