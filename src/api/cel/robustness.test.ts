import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Environment } from '#api/cel/environment.ts'
import { CostExceeded } from '#api/cel/evaluate/frame.ts'
import { kubernetesLibraries } from '#api/cel/libraries.ts'
import { tokenTypes } from '#api/cel/syntax/lexer.ts'
import { CelCompileError } from '#api/cel/syntax/source.ts'
import { dyn } from '#api/cel/types/cel-type.ts'
import { valueOfJson } from '#api/cel/values/json.ts'
import { CelError } from '#api/cel/values/value.ts'
import { seededRandom } from '#base/random.ts'

const environment = new Environment({ libraries: kubernetesLibraries, variables: { x: dyn, y: dyn } })
const x = valueOfJson({ a: [1, 2.5, 'text', null, { b: true }], s: 'x'.repeat(50), n: 7 })

/** Compiles and runs; whatever comes of it must be one of the answers there are. */
function tryOut(text: string): 'refused' | 'failed' | 'ran' {
  try {
    environment.compile(text).evaluate(() => x, 20_000)
    return 'ran'
  } catch (error) {
    if (error instanceof CelCompileError) return 'refused'
    if (error instanceof CelError || error instanceof CostExceeded) return 'failed'
    throw error
  }
}

const words = [
  ...tokenTypes.filter((type) => !/^[A-Z]+_|^<|STRING|BYTES|IDENT/.test(type)),
  ...['1', '2u', '1.5', "'a'", "b'a'", 'x', 'y', '.a', '.size()', '.map(e, e)', '.all(e, e > 1)', '.exists(e, e == 1)', '.filter(e, true)'],
  ...[
    'has(x.a)',
    'dyn(x)',
    'int(x.n)',
    'string(x.n)',
    'x.a[0]',
    '.?a',
    '[?0]',
    '.orValue(1)',
    '.optMap(o, o)',
    "quantity('1')",
    "ip('::1')",
  ],
  ...[
    '{"k": 1}',
    '[1, 2]',
    '.sort()',
    '.join()',
    '.matches("a+")',
    '.split("")',
    '.replace("", x.s)',
    'cel',
    '\n',
    '// note\n',
    '@',
    '"',
    '`a`',
  ],
]

test('random texts are refused, fail or run, and never do anything else', () => {
  const counts = { refused: 0, failed: 0, ran: 0 }
  for (let seed = 1; seed <= 4000; seed++) {
    const random = seededRandom(seed)
    const length = 1 + random.int(12)
    const text = Array.from({ length }, () => words[random.int(words.length)]).join(random.int(2) === 0 ? ' ' : '')
    try {
      counts[tryOut(text)]++
    } catch (error) {
      assert.fail(`seed ${seed}: ${JSON.stringify(text)}: ${(error as Error).stack}`)
    }
  }
  assert.ok(counts.ran > 50 && counts.refused > 1000, JSON.stringify(counts))
})

const sound = [
  "x.a.all(e, type(e) == string ? e.startsWith('t') : true) && x.s.matches('^x+$')",
  'x.?a[?9].optMap(v, v == 1).orValue(false) || [1, 2, 3].map(i, i * 2).exists(i, i == x.n)',
  "{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v * 2).size() > 0 ? quantity('1Gi').isGreaterThan(quantity('1M')) : false",
]

test('neither do texts that are almost expressions', () => {
  for (let seed = 1; seed <= 3000; seed++) {
    const random = seededRandom(seed)
    const chars = [...(sound[random.int(sound.length)] as string)]
    for (let change = random.int(4); change >= 0; change--) {
      const at = random.int(chars.length)
      if (random.int(3) === 0) chars.splice(at, 1)
      else chars.splice(at, random.int(2), chars[random.int(chars.length)] ?? '')
    }
    try {
      tryOut(chars.join(''))
    } catch (error) {
      assert.fail(`seed ${seed}: ${JSON.stringify(chars.join(''))}: ${(error as Error).stack}`)
    }
  }
})

const hostile: [string, string][] = [
  ['signs', '-'.repeat(20_000)],
  ['negations', '!'.repeat(20_000)],
  ['brackets', '['.repeat(240)],
  ['a list that does not end well', `[${'1,'.repeat(20_000)} +]`],
  ['calls that do not end', 'f('.repeat(200)],
  ['optionals of optionals', `x${'.optMap(a, a)'.repeat(60)}`],
  ['quotes', `${'"'.repeat(20_001)}`],
  ['lines', "'a\n".repeat(10_000)],
  ['a pattern of patterns', "'a'.matches('(((a{1000}){1000}){1000})')"],
  ['texts of texts', 'x.s.replace("", x.s).replace("", x.s).replace("", x.s).replace("", x.s).replace("", x.s).replace("", x.s)'],
]
for (const [name, text] of hostile) test(`hostile text is answered in time: ${name}`, { timeout: 60_000 }, () => void tryOut(text))

test('an expression of a kilobyte cannot say a type of billions of parts', () => {
  const nested = (levels: number): string => {
    const name = (level: number) => `v${level}`
    let text = 'true'
    for (let level = levels; level > 0; level--) text = `[{${name(level - 1)}: ${name(level - 1)}}].all(${name(level)}, ${text})`
    return `[1].all(v0, ${text})`
  }
  environment.compile(nested(5))
  assert.throws(() => environment.compile(nested(40)), /is too large/)
})

test('what is long and plain is checked', () => {
  environment.compile(Array.from({ length: 2000 }, () => '1 == 1').join(' && '))
  environment.compile(`[${Array.from({ length: 5000 }, (_, index) => index).join(', ')}].all(e, e >= 0)`)
})

test('comparing each with each is paid for before it is done', () => {
  const many = environment.compile('lists.range(200000).distinct().size() > 0')
  assert.throws(() => many.evaluate(() => x, 1_000_000), CostExceeded)
  const sets = environment.compile('sets.contains(lists.range(200000), lists.range(200000).reverse())')
  assert.throws(() => sets.evaluate(() => x, 1_000_000), CostExceeded)
})

test('a long text is counted once, however often it is asked for', () => {
  const long = valueOfJson('x'.repeat(1 << 20))
  const run = (text: string) => environment.compile(text).evaluate(() => long, 1e13)
  assert.equal(run("lists.range(20000).all(i, x.size() > i && x.charAt(i) == 'x' && x.substring(i, i + 1) == 'x')").value, true)
})

test('texts that would be joined to far too long ones are not', () => {
  const long = valueOfJson('x'.repeat(1 << 20))
  assert.throws(() => environment.compile('lists.range(1000).map(i, x).join().size() > 0').evaluate(() => long, 1e9), /too long/)
})
