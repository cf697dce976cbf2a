/** Somebody who is not root, for tests that root runs. */
import { spawnSync } from 'node:child_process'
import { whyNoSystemCalls } from '#base/system-calls.ts'

/** Nobody's, as far as anybody knows, and another one in each test file: those that run beside each other look at what their user has left. */
const uid = 20_000 + (process.pid % 40_000)

export const plainUser = { uid, prefix: ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'] } as const

/** Why such a user cannot have containers here; false when it can: the value of a test's `skip`. */
export function whyNoPlainUser(): string | false {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'becoming another user needs root on Linux'
  const [program, ...prefix] = plainUser.prefix
  const succeeds = (...command: string[]) => spawnSync(program, [...prefix, ...command]).status === 0
  if (!succeeds(process.execPath, '--version')) return 'the programs of this test may be read by root alone'
  if (!succeeds('test', '-r', import.meta.filename)) return 'the files of this test may be read by root alone'
  for (const needed of ['ip', 'nft', 'nsenter'])
    if (!succeeds('sh', '-c', `PATH=$PATH:/usr/sbin command -v ${needed}`)) return `not installed: ${needed}`
  const namespaces = ['--user', '--map-root-user', '--mount', '--net', '--pid', '--fork', '--mount-proc']
  if (!succeeds('unshare', ...namespaces, 'sh', '-c', 'PATH=$PATH:/usr/sbin nft list ruleset'))
    return 'user namespaces are not allowed here'
  return whyNoSystemCalls() ?? false
}
