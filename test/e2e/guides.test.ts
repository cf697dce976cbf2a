/** Every command of docs that says nothing else, typed as it is printed; the clusters are simulated, and each guide has its own. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { guides, pagesOfOneCluster, pathWithProgram, shellBlocks } from '../support/docs-commands.ts'

const directory = mkdtempSync(join(tmpdir(), 'tn-guides-'))
after(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }))
const PATH = pathWithProgram(join(directory, 'bin'))

function typed(script: string, home: string): Promise<{ text: string; status: number | null }> {
  const { KUBECONFIG: _kubeconfig, XDG_DATA_HOME: _data, NODE_TEST_CONTEXT: _test, ...environment } = process.env
  // Each flag is a variable too: the pages stay as they are, and others may run on this machine.
  const env = { ...environment, PATH, HOME: home, TYPERNETES_API_PORT: '0', TYPERNETES_RUNTIME: 'sim' }
  return new Promise((resolve) => {
    const child = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', script], { cwd: home, env, timeout: 280_000 })
    let text = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (piece: Buffer) => {
        text += piece
      })
    }
    child.on('close', (status) => resolve({ text, status }))
  })
}

assert.ok(guides.length >= 6)

/** A page that ends in the middle leaves nothing running. */
const tidy = (script: string) =>
  `trap 'for name in $(typernetes list -o name); do typernetes delete "$name" >/dev/null; done' EXIT\nset -x\n${script}`

describe('the commands of the guides work as they are printed', { concurrency: 2 }, () => {
  for (const page of guides) {
    test(page, { timeout: 300_000 }, async () => {
      const blocks = shellBlocks(page)
      assert.ok(blocks.length > 0)
      const { text, status } = await typed(tidy(blocks.join('\n')), mkdtempSync(join(directory, 'home-')))
      assert.equal(status, 0, text)
    })
  }
})

test('the commands of recipes and other pages work as they are printed, on one cluster', { timeout: 300_000 }, async () => {
  const blocks = pagesOfOneCluster.flatMap((page) => {
    const found = shellBlocks(page)
    assert.ok(found.length > 0, page)
    return found
  })
  const { text, status } = await typed(
    tidy(['typernetes up -d --metrics-adapter', ...blocks].join('\n')),
    mkdtempSync(join(directory, 'home-')),
  )
  assert.equal(status, 0, text)
})
