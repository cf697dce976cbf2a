/** The first minutes of somebody new, at a terminal: what is on the screen is what docs/guides/try.md shows. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathWithProgram, screenBlock, shellBlocks } from '../support/docs-commands.ts'
import { plainUser, whyNoPlainUser } from '../support/plain-user.ts'
import { openTerminal } from '../support/terminal.ts'

const page = 'docs/guides/try.md'
const isRoot = process.getuid?.() === 0
const onlyRoot = isRoot ? {} : { skip: 'containers need root' }

/** A home of its own, and no word of another cluster. */
function newcomer(flags: Record<string, string> = {}, who?: { uid: number; prefix: readonly string[] }) {
  const home = mkdtempSync(join(tmpdir(), 'tn-new-'))
  if (who !== undefined) chownSync(home, who.uid, who.uid)
  const { KUBECONFIG: _kubeconfig, XDG_DATA_HOME: _data, NODE_TEST_CONTEXT: _test, ...environment } = process.env
  const env = { ...environment, HOME: home, PATH: pathWithProgram(join(home, 'bin')), TYPERNETES_API_PORT: '0', ...flags }
  const kubeconfig = join(home, '.local/share/typernetes/admin.kubeconfig')
  const run = (line: string) => {
    const [program = '', ...args] = [...(who?.prefix ?? []), 'bash', '-c', line]
    const { stdout, stderr, status } = spawnSync(program, args, {
      env: { ...env, KUBECONFIG: kubeconfig },
      encoding: 'utf8',
      timeout: 120_000,
    })
    return { text: `${stdout}${stderr}`, status }
  }
  return {
    home,
    env,
    run,
    [Symbol.dispose]() {
      run('typernetes delete')
      rmSync(home, { recursive: true, force: true, maxRetries: 20 })
    },
  }
}

const ownerOf = (pid: string): number | undefined => statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
  } catch {
    return ''
  }
}

/** Without what differs from machine to machine and from run to run. */
function comparable(screen: string, home: string): string[] {
  return screen
    .replaceAll(home, '~')
    .replaceAll(/\d+\.\d\d s$/gm, 'TIME')
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT')
    .replaceAll(/^ {2}Controllers {2}\d+/gm, '  Controllers  SOME')
    .replaceAll(/1 real \(\S+\)/g, '1 real (RUNTIME)')
    .replaceAll(/&& (npx typernetes )?kubectl/g, '&& kubectl')
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '' && !/^\d\d:\d\d:\d\d /.test(line))
}

/** Until the value is as expected, for a minute and a half at most: what was begun may take a moment. */
async function becomes<T>(look: () => T, check: (value: T) => void): Promise<void> {
  for (const endMs = performance.now() + 90_000; ; await sleep(200)) {
    try {
      return check(look())
    } catch (error) {
      if (performance.now() > endMs) throw error
    }
  }
}

const shown = (title: string) => comparable(screenBlock(page, title), '/nowhere')

test('without user namespaces: a simulated node, a deployment on it, and what exec says', { timeout: 200_000 }, async () => {
  using user = newcomer()
  // In a user namespace of its own a process is nobody, and may not make another.
  await using terminal = openTerminal(`${isRoot ? 'unshare --user ' : ''}typernetes up -d`, user.env)
  assert.equal(await terminal.ended, 0, terminal.screen())
  assert.deepEqual(comparable(terminal.screen(), user.home), shown('without user namespaces'))
  const typed = shellBlocks(page)[1] ?? ''
  assert.match(typed, /kubectl create deployment/)
  const { text, status } = user.run(`set -e\n${typed}`)
  assert.equal(status, 0, text)
  assert.match(text, /deployment "hello" successfully rolled out/)
  assert.match(user.run('kubectl exec deployment/hello -- ls').text, /the pod is simulated, and nothing runs in it that could be spoken to/)
  assert.match(user.run('kubectl logs deployment/hello').text, /^This container is simulated/)
})

test('as a plain user: a real pod that is spoken to, and nothing left after delete', {
  skip: whyNoPlainUser(),
  timeout: 300_000,
}, async () => {
  using user = newcomer({}, plainUser)
  await using terminal = openTerminal(`${plainUser.prefix.join(' ')} typernetes up -d`, user.env)
  assert.equal(await terminal.ended, 0, terminal.screen())
  assert.deepEqual(comparable(terminal.screen(), user.home), shown('with containers'))
  assert.match(terminal.screen(), /^ {2}Nodes +1 real \(typernetes:\/\/\S+\)$/m)
  const first = ['run first --image=host -- sh -c "echo started; sleep 1000"', 'wait --for=condition=Ready pod/first --timeout=120s']
  const pod = user.run(first.map((command) => `kubectl ${command}`).join(' && '))
  assert.equal(pod.status, 0, pod.text)
  const asks = 'for n in $(seq 60); do getent hosts kubernetes.default && break; sleep 1; done'
  const inside = user.run(`kubectl exec first -- sh -c 'id -u; ${asks}; touch /etc/mine && echo written'`)
  assert.match(inside.text, /^0\n10\.96\.0\.1 .*\nwritten\n$/)
  assert.equal(existsSync('/etc/mine'), false)
  assert.match(user.run('typernetes down').text, /^1 pod runs on/m)
  assert.equal(user.run('typernetes up -d').status, 0)
  await becomes(
    () => user.run('kubectl wait --for=condition=Ready pod/first --timeout=120s && kubectl logs first').text,
    (text) => assert.match(text, /condition met\nstarted\n$/),
  )
  assert.match(user.run('typernetes delete').text, /\.local\/share\/typernetes is removed$/m)
  // Those that have ended have no command line, though nobody may have waited for them yet.
  const left = () => readdirSync('/proc').filter((name) => /^\d+$/.test(name) && ownerOf(name) === plainUser.uid && commandOf(name) !== '')
  await becomes(
    () => left().map(commandOf),
    (commands) => assert.deepEqual(commands, []),
  )
})

test('as root without containerd: a real pod, and Ctrl-C that says what runs on', { ...onlyRoot, timeout: 300_000 }, async () => {
  using user = newcomer({ TYPERNETES_RUNTIME: 'embedded' })
  await using terminal = openTerminal('typernetes up', user.env)
  await terminal.shows(/^Next: .*\n/m)
  const screen = comparable(terminal.screen(), user.home)
  assert.deepEqual(screen.slice(0, shown('with containers').length), shown('with containers'))
  const pod = user.run('kubectl run first --image=host -- sleep 1000 && kubectl wait --for=condition=Ready pod/first --timeout=120s')
  assert.equal(pod.status, 0, pod.text)
  terminal.type('\u0003')
  // Its last lines first: they say what went wrong.
  const code = await terminal.ended
  assert.equal(code, 0, `it ended with ${code}:\n${terminal.screen().slice(-1500)}`)
  assert.match(terminal.screen(), /^1 pod runs on; `typernetes down --pods` ends it$/m)
  const status = user.run('typernetes status')
  assert.equal(status.status, 1)
  assert.match(status.text, /^1 pod runs on/m)
  assert.match(user.run('typernetes down --pods').text, /^The pods of its nodes are gone$/m)
  assert.doesNotMatch(user.run('typernetes status').text, /run on|runs on/)
})

test('as root with containerd: the same table, and nothing left after delete', { ...onlyRoot, timeout: 300_000 }, async () => {
  using user = newcomer()
  await using terminal = openTerminal('typernetes up -d', user.env)
  assert.equal(await terminal.ended, 0, terminal.screen())
  assert.deepEqual(comparable(terminal.screen(), user.home), shown('with containers'))
  assert.match(terminal.screen(), /^ {2}Nodes +1 real \(containerd:\/\/\S+\)$/m)
  await becomes(
    () => user.run('typernetes status').text,
    (text) => assert.match(text, /^ {2}Nodes +1 of 1 ready/m),
  )
  const { text, status } = user.run('typernetes delete')
  assert.equal(status, 0, text)
  assert.match(text, /\.local\/share\/typernetes is removed$/m)
  await becomes(
    () => readFileSync('/proc/self/mounts', 'utf8'),
    (mounts) => assert.ok(!mounts.includes(user.home), mounts),
  )
})
