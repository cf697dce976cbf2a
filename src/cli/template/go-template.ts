/** Go's text/template on values of JSON, with the functions that kubectl adds. */

import { argumentCounts, templateFunctions } from './go-template-functions.ts'
import { TemplateError } from './go-template-lexer.ts'
import { type Operand, type ParsedTemplate, type Pipeline, parseTemplate, type TemplateNode } from './go-template-parser.ts'
import { goText, numberOf, TemplateNumber } from './go-values.ts'

type Scope = { variables: Map<string, unknown>; parent: Scope | undefined }

const stopped = { break: Symbol('break'), continue: Symbol('continue') }

export class GoTemplate {
  readonly #source: ParsedTemplate

  /** Throws `TemplateError`. */
  constructor(source: string) {
    this.#source = parseTemplate(source)
  }

  /** With `allowsMissing: false`, a key that is not there ends it. Throws `TemplateError`. */
  render(data: unknown, { allowsMissing = true }: { allowsMissing?: boolean } = {}): string {
    return new Execution(this.#source, allowsMissing).run(data)
  }
}

/** A key that is not there, as against a value that is null. */
const missing = Symbol('missing')

class Execution {
  readonly #source: ParsedTemplate
  readonly #allowsMissing: boolean
  #out = ''
  #depth = 0

  constructor(source: ParsedTemplate, allowsMissing: boolean) {
    this.#source = source
    this.#allowsMissing = allowsMissing
  }

  run(data: unknown): string {
    this.#nodes(this.#source.root, data, { variables: new Map([['$', data]]), parent: undefined })
    return this.#out
  }

  /** What ended it early: `break` or `continue`. */
  #nodes(nodes: readonly TemplateNode[], dot: unknown, scope: Scope): symbol | undefined {
    for (const node of nodes) {
      const end = this.#node(node, dot, scope)
      if (end !== undefined) return end
    }
    return undefined
  }

  #node(node: TemplateNode, dot: unknown, scope: Scope): symbol | undefined {
    switch (node.is) {
      case 'text':
        this.#out += node.text
        return undefined
      case 'action': {
        const value = this.#pipeline(node.pipeline, dot, scope)
        if (node.pipeline.declares.length === 0)
          this.#out += value === missing || value === undefined || value === null ? '<no value>' : goText(value)
        return undefined
      }
      case 'break':
      case 'continue':
        return stopped[node.is]
      case 'template':
        this.#template(node.name, node.pipeline === undefined ? null : this.#pipeline(node.pipeline, dot, scope))
        return undefined
      case 'range':
        return this.#range(node, dot, scope)
      default: {
        const inner: Scope = { variables: new Map(), parent: scope }
        const value = this.#pipeline(node.pipeline, dot, inner)
        const isTrue = isTruthy(value)
        return this.#nodes(isTrue ? node.body : node.otherwise, node.is === 'with' && isTrue ? value : dot, inner)
      }
    }
  }

  #template(name: string, data: unknown): void {
    const nodes = this.#source.defined.get(name)
    if (nodes === undefined) throw new TemplateError(`template "${name}" not defined`)
    if (++this.#depth > 1000) throw new TemplateError(`exceeded maximum template depth (1000)`)
    this.#nodes(nodes, data, { variables: new Map([['$', data]]), parent: undefined })
    this.#depth--
  }

  #range(node: TemplateNode & { is: 'if' | 'with' | 'range' }, dot: unknown, scope: Scope): symbol | undefined {
    const outer: Scope = { variables: new Map(), parent: scope }
    const { declares } = node.pipeline
    const value = this.#pipeline({ ...node.pipeline, declares: [] }, dot, outer)
    const entries = entriesOf(value)
    if (entries.length === 0) return this.#nodes(node.otherwise, dot, outer)
    for (const [key, each] of entries) {
      const inner: Scope = { variables: new Map(), parent: outer }
      const [first, second] = declares
      if (second !== undefined) inner.variables.set(first ?? '', key).set(second, each)
      else if (first !== undefined) inner.variables.set(first, each)
      if (this.#nodes(node.body, each, inner) === stopped.break) break
    }
    return undefined
  }

  #pipeline({ commands, declares, assigns }: Pipeline, dot: unknown, scope: Scope): unknown {
    let value: unknown
    for (const [index, command] of commands.entries()) value = this.#command(command, dot, scope, index === 0 ? [] : [value])
    for (const name of declares) {
      const owner = assigns ? ownerOf(scope, name) : scope
      owner.variables.set(name, value)
    }
    return value
  }

  #command(command: readonly Operand[], dot: unknown, scope: Scope, piped: readonly unknown[]): unknown {
    const [first, ...rest] = command
    if (first?.is === 'function') return this.#call(first.name, rest, dot, scope, piped)
    if (rest.length > 0 || piped.length > 0) {
      if (first?.is === 'chain') throw new TemplateError(`can't give argument to non-function .${first.fields.join('.')}`)
      throw new TemplateError(`can't give argument to non-function`)
    }
    return this.#operand(first as Operand, dot, scope)
  }

  #call(name: string, operands: readonly Operand[], dot: unknown, scope: Scope, piped: readonly unknown[]): unknown {
    const count = operands.length + piped.length
    const [least = 0, most = Number.POSITIVE_INFINITY] = argumentCounts[name] ?? []
    if (count < least || count > most)
      throw new TemplateError(`wrong number of args for ${name}: want ${least === most ? '' : 'at least '}${least} got ${count}`)
    // These stop at the first operand that decides.
    if (name === 'and' || name === 'or') {
      let value: unknown
      for (const operand of operands) {
        value = this.#operand(operand, dot, scope)
        if (isTruthy(value) === (name === 'or')) return value
      }
      return piped.length > 0 ? piped[0] : value
    }
    const run = templateFunctions[name]
    if (run === undefined) throw new TemplateError(`function "${name}" not defined`)
    const args = [...operands.map((operand) => (operand.is === 'nil' ? null : this.#operand(operand, dot, scope))), ...piped].map((each) =>
      each === missing ? undefined : each,
    )
    try {
      return run(...args)
    } catch (error) {
      throw new TemplateError(`error calling ${name}: ${(error as Error).message}`)
    }
  }

  #operand(operand: Operand, dot: unknown, scope: Scope): unknown {
    switch (operand.is) {
      case 'constant':
        return operand.value
      case 'dot':
        return dot
      case 'nil':
        throw new TemplateError('nil is not a command')
      case 'variable':
        return ownerOf(scope, operand.name).variables.get(operand.name)
      case 'function':
        return this.#call(operand.name, [], dot, scope, [])
      case 'pipeline':
        return this.#pipeline(operand.pipeline, dot, scope)
      case 'chain':
        return operand.fields.reduce((value, field) => this.#field(value, field), this.#operand(operand.of, dot, scope))
    }
  }

  #field(value: unknown, field: string): unknown {
    if (value === missing || value === null || value === undefined) {
      if (value === missing || this.#allowsMissing) return missing
      throw new TemplateError(`nil data; no entry for key "${field}"`)
    }
    if (typeof value !== 'object' || Array.isArray(value)) throw new TemplateError(`can't evaluate field ${field} in type interface {}`)
    if (Object.hasOwn(value, field)) return (value as Record<string, unknown>)[field]
    if (!this.#allowsMissing) throw new TemplateError(`map has no entry for key "${field}"`)
    return missing
  }
}

function ownerOf(scope: Scope, name: string): Scope {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.parent) if (at.variables.has(name)) return at
  throw new TemplateError(`undefined variable "${name}"`)
}

function entriesOf(value: unknown): [unknown, unknown][] {
  if (value === missing || value === null || value === undefined) return []
  if (Array.isArray(value)) return value.map((each, index) => [new TemplateNumber('int', index), each])
  const count = numberOf(value)
  if (typeof count === 'number' && Number.isInteger(count))
    return Array.from({ length: Math.max(0, count) }, (_, index) => [new TemplateNumber('int', index), new TemplateNumber('int', index)])
  if (typeof count === 'number') throw new TemplateError(`range can't iterate over ${goText(value)}`)
  if (typeof value !== 'object') throw new TemplateError(`range can't iterate over ${goText(value)}`)
  return Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
}

function isTruthy(given: unknown): boolean {
  const value = numberOf(given)
  if (value === missing || value === null || value === undefined || value === false || value === '' || value === 0 || value === 0n)
    return false
  if (Array.isArray(value)) return value.length > 0
  return typeof value !== 'object' || Object.keys(value).length > 0
}
