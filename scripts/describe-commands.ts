/** Writes the man pages and the completion scripts that are packaged: `node scripts/describe-commands.ts`. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandTree } from '#cmd/help/command-tree.ts'
import { completionOf } from '#cmd/help/completions.ts'
import { manPages } from './man-page.ts'

const repository = join(import.meta.dirname, '..')
const man = join(repository, 'man')
const completions = join(repository, 'completions')
for (const folder of [man, completions]) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
}
const pages = manPages(await commandTree())
for (const [name, text] of pages) writeFileSync(join(man, name), text)
writeFileSync(join(completions, 'typernetes.bash'), await completionOf('bash'))
writeFileSync(join(completions, '_typernetes'), await completionOf('zsh'))
writeFileSync(join(completions, 'typernetes.fish'), await completionOf('fish'))
console.log(`man: ${pages.size} pages; completions: bash, zsh, fish`)
