import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Environment } from '#api/cel/environment.ts'
import { kubernetesLibraries, withMore } from '#api/cel/libraries.ts'
import { stringReverse } from '#api/cel/library/strings.ts'
import { bindMacro, macrosOf, standardMacros } from '#api/cel/syntax/macros.ts'
import { parseExpression } from '#api/cel/syntax/parser.ts'
import { CelCompileError, displayIssues } from '#api/cel/syntax/source.ts'
import { type ConformanceCase, casesOf, declarationsOf, isForeign, typeFrom } from '#api/cel/testing/conformance-cases.ts'
import { shown, valueFrom } from '#api/cel/testing/conformance-value.ts'
import { debugText } from '#api/cel/testing/debug-text.ts'
import { typeText } from '#api/cel/types/cel-type.ts'

const libraries = withMore(kubernetesLibraries, { macros: [bindMacro], functions: [stringReverse] })

function environmentOf(each: ConformanceCase): Environment {
  const { variables, functions } = declarationsOf(each)
  const { container = '' } = each.original
  return new Environment({ libraries: withMore(libraries, { functions }), variables, container, isHeterogeneous: true })
}

function answerTo(each: ConformanceCase): string {
  const { original } = each
  try {
    const program = environmentOf(each).compile(original.expr)
    if (original.typedResult && !original.typedResult.result) return typeText(program.type)
    const { value } = program.evaluate((name) => {
      const binding = original.bindings?.[name]
      return binding && valueFrom(binding.value)
    }, Number.POSITIVE_INFINITY)
    return shown(value)
  } catch (error) {
    return `error: ${(error as Error).message}`
  }
}

function wantedOf({ original }: ConformanceCase): string | undefined {
  if (original.evalError) return 'error'
  const json = original.typedResult ? original.typedResult.result : (original.value ?? { boolValue: true })
  if (json === undefined) return typeText(typeFrom(original.typedResult?.deducedType ?? {}))
  const value = valueFrom(json)
  return value === undefined ? undefined : shown(value)
}

/** How many of the cases that are not about messages hold, and how many do not. */
const baseline: Readonly<Record<string, readonly [held: number, missed: number]>> = {
  basic: [39, 0],
  bindings_ext: [5, 0],
  comparisons: [313, 0],
  conversions: [108, 0],
  // Fields in backquotes are not switched on.
  fields: [49, 6],
  fp_math: [29, 0],
  integer_math: [61, 0],
  lists: [39, 0],
  logic: [21, 0],
  macros2: [46, 0],
  macros: [44, 0],
  namespace: [2, 0],
  optionals: [59, 0],
  parse: [176, 0],
  plumbing: [4, 0],
  string: [51, 0],
  // Kubernetes has an older version, which formats numbers and lists in another way.
  string_ext: [146, 19],
  timestamps: [75, 0],
  type_deductions: [25, 1],
}

test("CEL's conformance cases hold, but for what Kubernetes leaves out", async (t) => {
  const suites = await casesOf('conformance')
  if (suites === undefined) return t.skip('@bufbuild/cel-spec is not installed')
  const counts: Record<string, [number, number]> = {}
  const missed: string[] = []
  for (const [suite, cases] of suites) {
    for (const each of cases) {
      const wanted = isForeign(each) ? undefined : wantedOf(each)
      if (wanted === undefined) continue
      const answer = answerTo(each)
      const holds = wanted === 'error' ? answer.startsWith('error') : answer === wanted
      counts[suite] ??= [0, 0]
      counts[suite][holds ? 0 : 1]++
      if (!holds) missed.push(`${suite}: ${each.original.expr}: ${answer}, not ${wanted}`)
    }
  }
  const held = Object.values(counts).reduce((sum, [count]) => sum + count, 0)
  t.diagnostic(`${held} cases hold, ${missed.length} do not`)
  assert.deepEqual(counts, baseline, missed.join('\n'))
})

test('parts have the types, and calls the overloads, that cel-go finds', async (t) => {
  const suites = await casesOf('conformance')
  const more = await casesOf('checking')
  if (suites === undefined || more === undefined) return t.skip('@bufbuild/cel-spec is not installed')
  let held = 0
  const missed: string[] = []
  for (const each of [...suites.values(), ...more.values()].flat()) {
    if (isForeign(each) || each.checkedAst === undefined) continue
    let text: string
    try {
      text = debugText(environmentOf(each).compile(each.original.expr).checked)
    } catch (error) {
      text = (error as Error).message
    }
    if (comparable(text) === comparable(each.checkedAst)) held++
    else missed.push(`${each.original.expr}\n${text}\nnot\n${each.checkedAst}`)
  }
  t.diagnostic(`${held} trees are the same, ${missed.length} are not`)
  // Literals that are out of range and format texts that do not fit are refused here, and declarations of the test framework are not known.
  assert.deepEqual([held, missed.length], [1270, 24], missed.join('\n\n'))
})

/** Without what they print differently: literals with more than ASCII or an exponent, and overloads of orders, of which they have fewer. */
function comparable(text: string): string {
  return text
    .replace(/\^(?:less|greater)[a-z0-9_|]*/g, '')
    .replace(/b?"(?:\\.|[^"\\])*"(?=~(?:string|bytes))/g, '""')
    .replace(/-?[0-9.]+(?:e[+-]?[0-9]+)?(?=~double)/g, '0')
}

test('what is wrong is said as cel-go says it', async (t) => {
  const parsing = await casesOf('parsing')
  const checking = await casesOf('checking')
  if (parsing === undefined || checking === undefined) return t.skip('@bufbuild/cel-spec is not installed')
  let held = 0
  const missed: string[] = []
  const compare = (expr: string, found: string, wanted: string) => {
    if (found === wanted) held++
    else missed.push(`${expr}\n${found}\nnot\n${wanted}`)
  }
  for (const each of [...parsing.values()].flat()) {
    const { original, error = '' } = each
    // Limits are other ones here, and optional syntax is always on.
    if (/limit exceeded|recursion|unsupported syntax/.test(error)) continue
    const isSyntax = error.startsWith('ERROR: :')
    compare(original.expr, syntaxErrors(original.expr), isSyntax ? error : '')
  }
  for (const each of [...checking.values()].flat()) {
    if (isForeign(each) || !each.error?.startsWith('ERROR: <input>')) continue
    let text = ''
    try {
      environmentOf(each).compile(each.original.expr)
    } catch (error) {
      text = (error as Error).message
    }
    // Numbers of different kinds may be compared.
    if (!/overload for '_[<>]=?_'/.test(each.error)) compare(each.original.expr, text, each.error)
  }
  t.diagnostic(`${held} answers are the same, ${missed.length} are not`)
  assert.deepEqual(missed, [])
})

function syntaxErrors(text: string): string {
  try {
    parseExpression(text, { macros: macrosOf(standardMacros), hasOptionalSyntax: true, hasEscapedFields: true })
    return ''
  } catch (error) {
    if (error instanceof CelCompileError) return displayIssues(text, error.issues, '')
    throw error
  }
}
