/** Commands and flags that docs name exist. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { commandSpecs } from '#cli/flags/command-spec.ts'
import { commandTree, type DescribedCommand } from '#cmd/help/command-tree.ts'

const repository = join(import.meta.dirname, '..', '..')
const tree = await commandTree()
const kubectlWords = commandSpecs()

/** Lines of shell blocks, and what stands between backquotes. */
function linesOf(page: string): string[] {
  const text = readFileSync(join(repository, page), 'utf8')
  const blocks = [...text.matchAll(/^```sh[^\n]*\n([\s\S]*?)^```$/gm)].flatMap(([, block = '']) =>
    block.replaceAll('\\\n', ' ').split('\n'),
  )
  const words = [...text.replaceAll(/^```[\s\S]*?^```$/gm, '').matchAll(/`([^`\n]+)`/g)].map(([, words = '']) => words)
  return [...blocks, ...words]
}

function commandOf([first = '', second = '']: readonly string[]): DescribedCommand | undefined {
  const command = tree.find(({ name }) => name === first)
  return command?.commands.find(({ name }) => name === `${first} ${second}`) ?? command
}

for (const page of ['README.md', ...globSync('docs/**/*.md', { cwd: repository })]) {
  test(`${page} names commands and flags that exist`, () => {
    for (const line of linesOf(page)) {
      const [, rest] = /^(?:sudo )?(?:npx )?(?:typernetes|tn|node bin\/typernetes\.js) ([a-z][\w -].*)$/.exec(line.trim()) ?? []
      if (rest === undefined) continue
      const words =
        rest
          .split(/ -- |[;|&>#]/)[0]
          ?.trim()
          .split(/\s+/) ?? []
      const command = commandOf(words)
      if (command === undefined) {
        assert.ok(words[0] === 'help' || kubectlWords.has(words[0] ?? ''), `${line}: ${words[0]} is no command`)
        continue
      }
      if (command.name === 'kubectl') continue
      const known = new Set([...command.flags.flatMap(({ long, short }) => [long, short]), '--help', '--help-all', '-h'])
      for (const [, flag] of rest.split(/ -- |[;|&>#]/)[0]?.matchAll(/(?<=^|\s)(--?[a-z][\w-]*)/g) ?? []) {
        assert.ok(known.has(flag), `${line}: ${command.name} has no flag ${flag}`)
      }
    }
  })
}
