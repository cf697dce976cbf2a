/** What others send may be a megabyte of one character: an expression that goes over it again at each place takes minutes for it. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createContext, Script } from 'node:vm'
import { expressionLiterals } from './expression-literals.ts'
import { hardTexts } from './hard-texts.ts'

/** In proportion to its length such a text takes less than a millisecond, by its square many seconds. */
const textLength = 200_000
/** For one text. */
const limitMs = 1000
/** A machine that is busy with much else may need more than one. */
const mostAttempts = 3

/** Why an expression may be slow: its texts are short, whatever anybody does. */
const shortTexts: Readonly<Record<string, string>> = {
  'src/api/cel/library/string-format.ts': 'the digits of a double',
  'src/kubelet/eviction/oom-watcher.ts': 'a line of the kernel’s log has a kilobyte at most',
}

const context = createContext({ expression: /./, texts: [''], at: 0 })
const matching = new Script(
  'for (; at < texts.length; at++) { const text = texts[at]; expression.lastIndex = 0; if (expression.global) text.replace(expression, ""); else expression.exec(text) }',
)

function isSlow(source: string, flags: string, attempts: number): boolean {
  Object.assign(context, { expression: new RegExp(source, flags), texts: [...hardTexts(source, flags, textLength)], at: 0 })
  for (let attempt = 0; attempt < attempts; ) {
    const { at } = context
    try {
      matching.runInContext(context, { timeout: limitMs })
      return false
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
      // The texts before it have had their share of the time.
      attempt = context['at'] === at ? attempt + 1 : 0
    }
  }
  return true
}

test('expressions that are known to be slow are found to be', () => {
  for (const expression of [/\/+$/, /^(0*)([0-9]*)x$/, /<!--.*?-->/, /^ +| +$/g, /^(a+)+$/, /\$\(([^)]*)\)/g])
    assert.ok(isSlow(expression.source, expression.flags, 1), String(expression))
})

test('those that look once are not', () => {
  for (const expression of [/^\/+/, /^(0*)([1-9][0-9]*)?x$/, /^[^=]*=.*$/s, /(?<!\d)\d+$/, /\$\(([^)]*)(\)|$)/g])
    assert.ok(!isSlow(expression.source, expression.flags, mostAttempts), String(expression))
})

test('expressions are told from divisions, texts and comments', () => {
  const code = [
    'const a = b / c / d // a / b /',
    "const e = x.replace(/[/']\\//g, '/') /* / */",
    `const f = \`\${list.map((each) => each.match(/a\`}/)).join(\`/\`)}/b/\` / 2`,
    'return /x/',
  ].join('\n')
  assert.deepEqual(
    expressionLiterals(code).map(({ line, source, flags }) => `${line} ${source} ${flags}`),
    ["2 [/']\\/ g", '3 a`} ', '4 x '],
  )
})

test('no expression of the program takes longer than in proportion to its text', { timeout: 600_000 }, () => {
  const root = join(import.meta.dirname, '..', '..')
  const slow: string[] = []
  let count = 0
  // What kubectl reads is its user's own.
  for (const path of globSync('src/**/*.ts', { cwd: root, exclude: ['src/**/*.test.ts', 'src/**/testing/**', 'src/cli/**'] })) {
    if (shortTexts[path] !== undefined) continue
    for (const { line, source, flags } of expressionLiterals(readFileSync(join(root, path), 'utf8'))) {
      count++
      if (isSlow(source, flags, mostAttempts)) slow.push(`${path}:${line} /${source}/${flags}`)
    }
  }
  assert.deepEqual(slow, [])
  assert.ok(count > 500, `${count}`)
})
