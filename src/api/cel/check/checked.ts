/** What checking found out about the parts of an expression. */
import type { Expression } from '#api/cel/syntax/expression.ts'
import type { CelType } from '#api/cel/types/cel-type.ts'
import type { FunctionDeclaration, Overload } from '#api/cel/types/declarations.ts'

export type CallReference = {
  readonly declaration: FunctionDeclaration
  readonly overloads: readonly Overload[]
  readonly isMember: boolean
}

export type Checked = {
  readonly expression: Expression
  readonly types: ReadonlyMap<object, CelType>
  /** The full name of what an identifier, or a chain of selections, stands for; of a struct literal its type's. */
  readonly names: ReadonlyMap<object, string>
  readonly calls: ReadonlyMap<object, CallReference>
}

export const typeIn = ({ types }: Checked, expression: Expression): CelType => types.get(expression) ?? { kind: 'dyn' }
