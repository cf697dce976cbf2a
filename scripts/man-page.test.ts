import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commandTree, type DescribedCommand } from '#cmd/help/command-tree.ts'
import { manPages } from './man-page.ts'

const tree = await commandTree()
const withParts = (command: DescribedCommand): DescribedCommand[] => [command, ...command.commands.flatMap(withParts)]

test('every command has a man page that names all its flags', () => {
  const pages = manPages(tree)
  assert.equal(pages.size, tree.length + 1)
  for (const command of tree.flatMap(withParts)) {
    const page = pages.get(`typernetes-${command.name.split(' ')[0]}.1`) ?? ''
    for (const { long } of command.flags) assert.ok(page.includes(`\\fB${long.replaceAll('-', '\\-')}\\fR`), `${command.name} ${long}`)
  }
})

test('man pages hold no line that roff would take for a request of its own', () => {
  const requests = /^\.(TH|SH|SS|TP|PP|br)( |$)/
  for (const [name, page] of manPages(tree)) {
    for (const line of page.split('\n')) assert.ok(!/^['.]/.test(line) || requests.test(line), `${name}: ${line}`)
  }
})
