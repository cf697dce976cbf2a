/** An etcd server on each machine, together a cluster. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Machine } from './machines.ts'

export type EtcdMembers = AsyncDisposable & {
  /** For `--store`. */
  readonly store: string
  kill(machine: number): Promise<void>
  start(machine: number): Promise<void>
}

const readyText = /serving client traffic|serving (insecure )?client requests/

export async function startEtcdMembers(machines: readonly Machine[]): Promise<EtcdMembers> {
  const initial = machines.map(({ name, address }) => `${name}=http://${address}:2380`).join(',')
  const children = new Map<number, { child: ChildProcess; exited: Promise<unknown> }>()
  const start = async (index: number) => {
    const { name, address, directory, inside } = machines[index] as Machine
    const [client, peer] = [`http://${address}:2379`, `http://${address}:2380`]
    const [command = '', ...rest] = [
      ...[...inside, 'etcd', '--name', name, '--data-dir', join(directory, 'etcd'), '--initial-cluster', initial],
      ...['--listen-client-urls', client, '--advertise-client-urls', client, '--listen-peer-urls', peer],
      ...['--initial-advertise-peer-urls', peer, '--logger', 'zap', '--log-outputs', 'stderr'],
    ]
    // Into a file: nobody may read a pipe for as long as a test waits for a program, and etcd stands still once the pipe is full.
    const path = join(directory, 'etcd.log')
    const log = openSync(path, 'w')
    const child = spawn(command, rest, { stdio: ['ignore', 'ignore', log] })
    closeSync(log)
    const exited = new Promise((resolve) => child.once('exit', resolve))
    children.set(index, { child, exited })
    for (let text = ''; !readyText.test(text); text = readFileSync(path, 'utf8')) {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(`etcd ended: ${text.slice(-2000)}`)
      await sleep(50)
    }
  }
  const kill = async (index: number) => {
    const running = children.get(index)
    running?.child.kill('SIGKILL')
    await running?.exited
  }
  const stopAll = async () => void (await Promise.all([...children.keys()].map(kill)))
  await Promise.all(machines.map((_, index) => start(index))).catch(async (error: unknown) => {
    await stopAll()
    throw error
  })
  return { store: `etcd://${machines.map(({ address }) => `${address}:2379`).join(',')}`, kill, start, [Symbol.asyncDispose]: stopAll }
}
