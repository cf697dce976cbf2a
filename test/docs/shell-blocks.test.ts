/** Every block of commands in docs is typed by a test, or says why not. */
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { typedPages } from '../support/docs-commands.ts'

const repository = join(import.meta.dirname, '..', '..')
const pages = ['README.md', 'CONTRIBUTING.md', 'docs/**/*.md', 'examples/*/README.md', 'src/*/README.md'].flatMap((pattern) =>
  globSync(pattern, { cwd: repository }),
)
const command = /^(?:sudo |[A-Z_]+=\S+ )*(?:typernetes|tn|kubectl|npm|npx|node|curl|docker|apt|echo) /m
/** Drawings and what is on a screen may begin with such a word as well. */
const isDrawing = (block: string) => /[│▶▼]/.test(block)

for (const page of pages) {
  test(`${page}: commands are typed by a test, or say why not`, () => {
    const text = readFileSync(join(repository, page), 'utf8')
    for (const [, language = '', rest = '', block = ''] of text.matchAll(/^```(\w*)([^\n]*)\n([\s\S]*?)^```$/gm)) {
      if (language === 'text' || language === 'diff' || isDrawing(block) || (language !== 'sh' && !command.test(block))) continue
      if (['ts', 'js', 'json', 'yaml'].includes(language)) continue
      assert.equal(language, 'sh', `a block of commands is marked as sh:\n${block}`)
      if (rest === '') {
        assert.ok(typedPages.includes(page), `nobody types this:\n${block}`)
        continue
      }
      const [, reason = ''] = /^ not typed: (.+)$/.exec(rest) ?? []
      assert.notEqual(reason, '', `it does not say why nobody types it:\n${block}`)
      for (const [path] of reason.matchAll(/test\/\S+\.test\.ts/g)) assert.ok(existsSync(join(repository, path)), `there is no ${path}`)
    }
  })
}
