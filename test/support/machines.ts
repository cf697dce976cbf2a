/** Machines as network namespaces on one bridge, each with a name and a file tree of its own. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unmountBelow } from './containerd.ts'

export type Machine = {
  readonly name: string
  readonly address: string
  readonly directory: string
  /** What a program is started by that is to run there. */
  readonly inside: readonly string[]
  /** As when its power is cut: its link is down, and every process on it, those of pods too, is gone. */
  die(): void
  /** Its link is up again; nothing runs. */
  boot(): void
}

function ip(...words: string[]): void {
  const { status, stderr } = spawnSync('ip', words, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`ip ${words.join(' ')}: ${stderr}`)
}

const gateway = '10.198.77.254'

/** Of the pods of the node that has this directory, which have network namespaces of their own: as the embedded runtime notes them. */
function podProcesses(directory: string): string[] {
  const pattern = '"process":\\{"pid":[0-9]+,"startTicks":"[0-9]+"'
  const { stdout } = spawnSync('grep', ['-rhoE', '--include=*.json', pattern, directory], { encoding: 'utf8' })
  const noted = [...stdout.matchAll(/"pid":(\d+),"startTicks":"(\d+)"/g)]
  // The number of one that has ended may be another's by now.
  return noted.filter(([, pid = '', ticks]) => startTicks(pid) === ticks).map(([, pid = '']) => pid)
}

function startTicks(pid: string): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return undefined
  }
}

function killAtOnce(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
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
    ip('-n', namespace, 'route', 'add', 'default', 'via', gateway)
    const name = `machine-${index}`
    const own = join(directory, name)
    mkdirSync(own)
    const named = ['unshare', '--uts', 'sh', '-c', 'echo "$0" > /proc/sys/kernel/hostname; exec "$@"', name]
    return {
      ...{ name, address, directory: own, inside: ['ip', 'netns', 'exec', namespace, ...named] },
      die() {
        ip('-n', namespace, 'link', 'set', 'eth0', 'down')
        const inNamespace = () => spawnSync('ip', ['netns', 'pids', namespace], { encoding: 'utf8' }).stdout.split('\n').filter(Boolean)
        // Another look finds what a shim or a supervisor has started meanwhile, and those that take a moment to go.
        for (let look = 0, pids = inNamespace(); look < 2 || (pids.length > 0 && look < 1000); look++, pids = inNamespace())
          for (const pid of [...pids, ...podProcesses(own)]) killAtOnce(Number(pid))
        const left = spawnSync('ip', ['-n', namespace, '-brief', 'link'], { encoding: 'utf8' }).stdout
        for (const [, link = ''] of left.matchAll(/^(\S+?)(?:@\S+)? /gm))
          if (!['lo', 'eth0'].includes(link)) spawnSync('ip', ['-n', namespace, 'link', 'delete', link])
        spawnSync('ip', ['netns', 'exec', namespace, 'nft', 'flush', 'ruleset'])
      },
      boot() {
        ip('-n', namespace, 'link', 'set', 'eth0', 'up')
        // Went with the link.
        ip('-n', namespace, 'route', 'replace', 'default', 'via', gateway)
      },
    }
  })
  return {
    machines,
    [Symbol.dispose]() {
      for (let index = 0; index < count; index++) spawnSync('ip', ['netns', 'delete', `${mark}-${index}`])
      spawnSync('ip', ['link', 'delete', bridge])
      unmountBelow(directory)
      rmSync(directory, { recursive: true, force: true, maxRetries: 20 })
    },
  }
}
