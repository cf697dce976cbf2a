import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ExecTurns } from '#kubelet/probes/exec-turns.ts'

test('commands are begun one in each turn, pods in turns, and a pod has ten at once', async () => {
  const turns: (() => void)[] = []
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const execs = new ExecTurns({ soon: (callback) => void turns.push(callback) })
  const results: Promise<string>[] = []
  const ask = (pod: string, name: string) =>
    results.push(
      execs.run(pod, () => {
        begun.push(name)
        return new Promise<string>((resolve) => ends.set(name, () => resolve(name)))
      }),
    )
  const nextTurn = async () => {
    turns.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  for (let index = 0; index < 1000; index++) ask('greedy', `greedy-${index}`)
  ask('modest', 'modest')
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(begun, ['greedy-0'])
  await nextTurn()
  await nextTurn()
  assert.deepEqual(begun, ['greedy-0', 'greedy-1', 'modest'])
  while (turns.length > 0) await nextTurn()
  assert.equal(begun.length, 11)
  ends.get('greedy-3')?.()
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(begun.slice(11), ['greedy-10'])
  const endAll = async () => {
    for (const end of ends.values()) end()
    await nextTurn()
  }
  while (begun.length < 1001) await endAll()
  await endAll()
  assert.equal((await Promise.all(results)).length, 1001)
})

test('a command that fails makes room for the next', async () => {
  const execs = new ExecTurns({ soon: (callback) => void setImmediate(callback) })
  const outcomes = await Promise.allSettled(
    Array.from({ length: 30 }, (_, index) => execs.run('pod', async () => (index % 2 === 0 ? index : Promise.reject(new Error('no'))))),
  )
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 15)
})
