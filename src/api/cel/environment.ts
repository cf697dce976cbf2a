/** CEL as Kubernetes has it: which variables, functions and types an expression may use, and how it is made to run. */

import type { Checked } from '#api/cel/check/checked.ts'
import { typeIn } from '#api/cel/check/checked.ts'
import { checkExpression } from '#api/cel/check/checker.ts'
import { checkFormats } from '#api/cel/check/format-checks.ts'
import { checkLiterals } from '#api/cel/check/literal-checks.ts'
import { celBudgets } from '#api/cel/cost-budgets.ts'
import { Compiler } from '#api/cel/evaluate/compile.ts'
import { type Activation, Frame, type Run } from '#api/cel/evaluate/frame.ts'
import type { Libraries } from '#api/cel/libraries.ts'
import { type Macros, macrosOf } from '#api/cel/syntax/macros.ts'
import { parseExpression } from '#api/cel/syntax/parser.ts'
import { CelCompileError } from '#api/cel/syntax/source.ts'
import type { CelType } from '#api/cel/types/cel-type.ts'
import type { FunctionDeclaration, StructType, TypeProvider } from '#api/cel/types/declarations.ts'
import type { Value } from '#api/cel/values/value.ts'

/** What one run may cost before it is ended. */

export type EnvironmentOptions = {
  readonly libraries: Libraries
  readonly variables?: Readonly<Record<string, CelType>>
  readonly structs?: readonly StructType[]
  /** Types that are made up as they are named. */
  readonly structNamed?: (name: string) => StructType | undefined
  readonly container?: string
  /** Lists and maps written out may mix types. */
  readonly isHeterogeneous?: boolean
}

export type Outcome = { readonly value: Value; readonly cost: number }

export class Program {
  readonly text: string
  readonly checked: Checked
  readonly #run: Run
  readonly #slotCount: number

  constructor(text: string, checked: Checked, run: Run, slotCount: number) {
    this.text = text
    this.checked = checked
    this.#run = run
    this.#slotCount = slotCount
  }

  get type(): CelType {
    return typeIn(this.checked, this.checked.expression)
  }

  /** Throws CelError for what fails inside, CostExceeded when it takes too much. */
  evaluate(variable: Activation, costLimit = celBudgets.perCall): Outcome {
    const frame = new Frame(variable, this.#slotCount, costLimit)
    return { value: this.#run(frame), cost: frame.cost }
  }
}

export class Environment {
  readonly #options: EnvironmentOptions
  readonly #variables: ReadonlyMap<string, CelType>
  readonly #structs: ReadonlyMap<string, StructType>
  readonly #types: TypeProvider
  readonly #macros: Macros

  constructor(options: EnvironmentOptions) {
    this.#options = options
    this.#variables = new Map(Object.entries(options.variables ?? {}))
    this.#structs = new Map((options.structs ?? []).map((struct) => [struct.name, struct]))
    const { libraries } = options
    this.#macros = macrosOf(libraries.macros)
    const struct = (name: string) => this.#structs.get(name) ?? libraries.structs.get(name) ?? options.structNamed?.(name)
    this.#types = {
      struct,
      typeNamed: (name) => libraries.typeNames.get(name) ?? (struct(name) === undefined ? undefined : { kind: 'struct', name }),
    }
  }

  /** The same, with more to name. */
  extended(more: Pick<EnvironmentOptions, 'variables' | 'structs'>): Environment {
    return new Environment({
      ...this.#options,
      variables: { ...this.#options.variables, ...more.variables },
      structs: [...(this.#options.structs ?? []), ...(more.structs ?? [])],
    })
  }

  get functions(): ReadonlyMap<string, FunctionDeclaration> {
    return this.#options.libraries.functions
  }

  /** Throws CelCompileError, whose message is as cel-go prints it. */
  compile(text: string): Program {
    const { libraries, container = '', isHeterogeneous = false } = this.#options
    const expression = parseExpression(text, { macros: this.#macros, hasOptionalSyntax: true })
    const checked = checkExpression(text, expression, {
      variables: this.#variables,
      functions: libraries.functions,
      types: this.#types,
      container,
      isHomogeneous: !isHeterogeneous,
    })
    const issues = [...checkLiterals(checked), ...checkFormats(checked)]
    if (issues.length > 0) throw new CelCompileError(text, issues)
    const compiler = new Compiler(checked, this.#types, (name) => this.#variables.has(name))
    const run = compiler.compile(expression)
    return new Program(text, checked, run, compiler.slotCount)
  }
}
