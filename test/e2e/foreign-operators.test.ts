/** Operators written with the official JavaScript and Python clients work as they are. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import {
  ConfigMap,
  CustomResourceDefinition,
  defineKind,
  type KubernetesObject,
  type OpenedClient,
  openClient,
  systemClock,
  waitFor,
} from '#index.ts'
import { type RunningCluster, startCluster } from '../support/running-cluster.ts'

type Greeting = KubernetesObject & { spec: { name: string }; status?: { phase: string; greeted: string } }

let cluster: RunningCluster
let client: OpenedClient
before(async () => {
  cluster = await startCluster()
  client = await openClient({ kubeconfig: cluster.kubeconfig })
})
after(async () => {
  client[Symbol.dispose]()
  await cluster[Symbol.asyncDispose]()
})

/** The one that sees Debian's packages, whatever else is on the path. */
const debianPython = '/usr/bin/python3'
const hasPythonClient = spawnSync(debianPython, ['-c', 'import kubernetes']).status === 0
const operators = [
  { language: 'javascript', command: [process.execPath, 'operator.ts'], skip: false },
  { language: 'python', command: [debianPython, 'operator.py'], skip: hasPythonClient ? false : 'python3-kubernetes is not installed' },
] as const

/** Starts it, and resolves once it says that it is ready. */
async function startOperator([program, file]: readonly [string, string]): Promise<Disposable> {
  const path = join(import.meta.dirname, 'foreign-operators', file)
  const child = spawn(program, [path], { env: { ...process.env, KUBECONFIG: cluster.kubeconfig }, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  await new Promise<void>((resolve, reject) => {
    const read = (text: Buffer) => {
      output += text
      if (/^ready$/m.test(output)) resolve()
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.on('exit', (code) => reject(new Error(`the operator ended with ${code}:\n${output}`)))
  })
  return { [Symbol.dispose]: () => void child.kill('SIGKILL') }
}

for (const { language, command, skip } of operators) {
  test(`an operator with the official ${language} client: definition, watch, status, finalizer`, { skip, timeout: 240_000 }, async () => {
    using _operator = await startOperator(command)
    const group = `${language}.example.com`
    const Greeting = defineKind<Greeting>({ group, version: 'v1', kind: 'Greeting', plural: 'greetings' })
    const place = { namespace: 'default', name: `from-${language}` }
    const waiting = { clock: systemClock, timeoutMs: 60_000 }
    const text = async (name: string, expected: string) =>
      waitFor(client, ConfigMap, { namespace: 'default', name }, (map) => map?.data?.['text'] === expected, waiting)

    await client.create(Greeting, { metadata: place, spec: { name: 'Ada' } })
    const greeted = await waitFor(client, Greeting, place, (each) => each?.status?.phase === 'Greeted', waiting)
    assert.deepEqual(greeted?.metadata?.finalizers, [`${group}/farewell`])
    const map = await text(place.name, 'Hello, Ada')
    assert.equal(map?.metadata.ownerReferences?.[0]?.uid, greeted?.metadata?.uid)

    await client.patch(Greeting, place, { spec: { name: 'Grace' } }, { type: 'merge' })
    await waitFor(client, Greeting, place, (each) => each?.status?.greeted === 'Grace', waiting)
    await text(place.name, 'Hello, Grace')

    await client.delete(Greeting, place)
    await waitFor(client, Greeting, place, (each) => each === undefined, waiting)
    await text(`${place.name}-farewell`, 'Goodbye, Grace')
    await waitFor(client, ConfigMap, place, (each) => each === undefined, waiting)
    await client.delete(CustomResourceDefinition, { name: `greetings.${group}` })
  })
}
