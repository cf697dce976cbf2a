/** Machines as network namespaces on one bridge, each with a name and a file tree of its own. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unmountBelow } from './containerd.ts'

export type Machine = { readonly name: string; readonly address: string; readonly directory: string; readonly inside: readonly string[] }

function ip(...words: string[]): void {
  const { status, stderr } = spawnSync('ip', words, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`ip ${words.join(' ')}: ${stderr}`)
}

/** Why there can be none here; false where there can. */
export function whyNoMachines(): string | false {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'network namespaces need root on Linux'
  return spawnSync('ip', ['netns', 'list']).status === 0 ? false : 'iproute2 is not installed'
}

export function layMachines(count: number): Disposable & { machines: readonly Machine[] } {
  const mark = `t${process.pid.toString(36)}`
  const directory = mkdtempSync(join(tmpdir(), 'tn-machines-'))
  const bridge = `${mark}br`
  ip('link', 'add', bridge, 'type', 'bridge')
  ip('link', 'set', bridge, 'up')
  const machines = Array.from({ length: count }, (_, index): Machine => {
    const namespace = `${mark}-${index}`
    const address = `10.198.77.${index + 1}`
    ip('netns', 'add', namespace)
    ip('link', 'add', `${mark}v${index}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace)
    ip('link', 'set', `${mark}v${index}`, 'master', bridge, 'up')
    ip('-n', namespace, 'addr', 'add', `${address}/24`, 'dev', 'eth0')
    for (const link of ['lo', 'eth0']) ip('-n', namespace, 'link', 'set', link, 'up')
    ip('-n', namespace, 'route', 'add', 'default', 'via', '10.198.77.254')
    const name = `machine-${index}`
    const own = join(directory, name)
    mkdirSync(own)
    const named = ['unshare', '--uts', 'sh', '-c', 'echo "$0" > /proc/sys/kernel/hostname; exec "$@"', name]
    return { name, address, directory: own, inside: ['ip', 'netns', 'exec', namespace, ...named] }
  })
  return {
    machines,
    [Symbol.dispose]() {
      for (let index = 0; index < count; index++) spawnSync('ip', ['netns', 'delete', `${mark}-${index}`])
      spawnSync('ip', ['link', 'delete', bridge])
      unmountBelow(directory)
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
