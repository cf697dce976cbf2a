import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { load } from 'js-yaml'
import { addOptions, applySettings, Command, optionValues } from '#base/options.ts'
import { settingsText } from '#cmd/config/settings-text.ts'
import { commandTree, type DescribedCommand } from '#cmd/help/command-tree.ts'
import { completionOf } from '#cmd/help/completions.ts'
import { upOptions } from '#cmd/up/options.ts'

const tree = await commandTree()
const withParts = (command: DescribedCommand): DescribedCommand[] => [command, ...command.commands.flatMap(withParts)]
const every = tree.flatMap(withParts)

for (const shell of ['zsh', 'fish'] as const) {
  test(`the completion of ${shell} knows every command and flag`, async () => {
    const script = await completionOf(shell)
    for (const { name, flags } of every.filter((command) => command.name !== 'kubectl')) {
      assert.ok(script.includes(name.split(' ').at(-1) ?? ''), name)
      for (const { long } of flags) assert.ok(script.includes(shell === 'fish' ? `-l ${long.slice(2)}` : long), `${name} ${long}`)
    }
  })
}

test('bash completes commands, parts of commands, flags, values and names of clusters', async () => {
  const asked = [
    ['st', 'status store'],
    ['up --runt', '--runtime --runtime-config'],
    ['up --runtime ', 'auto cri docker embedded sim none'],
    ['up --runtime = em', 'embedded'],
    ['snapshot ', 'save restore status'],
    ['snapshot save --da', '--data-dir'],
    ['down l', 'lab'],
    ['get po', 'pods'],
    ['completion ', 'bash zsh fish'],
  ] as const
  const script = [
    await completionOf('bash'),
    `typernetes() { if [[ $1 == list ]]; then printf 'lab\\nother\\n'; else printf 'pods\\tshort\\n:4\\n'; fi; }`,
    `try() { COMP_WORDS=(typernetes "$@"); COMP_CWORD=$#; _typernetes; echo "\${COMPREPLY[*]}"; }`,
    ...asked.map(([words]) => `try ${words.endsWith(' ') ? `${words}''` : words}`),
  ].join('\n')
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', script], {
    encoding: 'utf8',
    // Bash complains of a language that the machine has not, and reads what somebody has put into its way.
    env: { ...process.env, LC_ALL: 'C', BASH_ENV: '' },
  })
  assert.equal(stderr, '')
  assert.deepEqual(
    stdout.trim().split('\n'),
    asked.map(([, completed]) => completed),
  )
})

test('what config print prints is a file that --config takes to mean the same', () => {
  const given = new Command('up')
  addOptions(given, upOptions)
  const flags = [
    '--sim-nodes',
    '3',
    '--store',
    'memory',
    '--scheduler=false',
    '--controllers',
    '*,-job',
    '--listen',
    '0.0.0.0',
    '--request-timeout',
    '90s',
  ]
  given.parse(flags, { from: 'user' })
  const text = settingsText(optionValues(given, upOptions), (key) => given.getOptionValueSource(key))
  const read = new Command('up')
  addOptions(read, upOptions)
  read.parse([], { from: 'user' })
  applySettings(read, load(text) as Record<string, unknown>, 'settings.yaml')
  assert.deepEqual(optionValues(read, upOptions), optionValues(given, upOptions))
})
