import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { type LogRecord, recordingLogger } from '#base/log.ts'
import { ContainerOutput } from '#runtime/containers/container-output.ts'

test('a log that is rotated while it is flooded loses nothing, and no file is left open', async () => {
  const directory = await nodeFiles.temporaryDirectory('tn-output-')
  const log: LogRecord[] = []
  const opened = { count: 0 }
  const files = {
    ...nodeFiles,
    async open(...args: Parameters<typeof nodeFiles.open>) {
      const file = await nodeFiles.open(...args)
      opened.count++
      return {
        ...file,
        close: () => {
          opened.count--
          return file.close()
        },
      }
    },
  }
  const logFile = join(directory, '0.log')
  const output = new ContainerOutput({ logFile, clock: systemClock, files, logger: recordingLogger(log) })
  try {
    const rotations: Promise<void>[] = []
    for (let line = 0; line < 3000; line++) {
      output.take('stdout', Buffer.from(`line ${line}\n`))
      if (line % 100 !== 0) continue
      // As the agent does it: the name is changed first, and the writer told then.
      await nodeFiles.rename(logFile, `${logFile}.${line}`).catch(() => {})
      rotations.push(output.reopen())
      if (line % 300 === 0) await Promise.all(rotations)
    }
    await Promise.all(rotations)
    await output.end(1000)
    assert.deepEqual(log, [])
    assert.equal(opened.count, 0)
    const texts = await Promise.all((await nodeFiles.list(directory)).map((name) => nodeFiles.readText(join(directory, name))))
    const lines = texts.flatMap((text) => [...text.matchAll(/line (\d+)/g)].map(([, number]) => Number(number)))
    assert.deepEqual(
      lines.sort((left, right) => left - right),
      Array.from({ length: 3000 }, (_, line) => line),
    )
  } finally {
    await nodeFiles.remove(directory)
  }
})

test('what a container says is in its log before the agent does anything else, once the log is open', async () => {
  const directory = await nodeFiles.temporaryDirectory('tn-output-')
  const logFile = join(directory, '0.log')
  const output = new ContainerOutput({ logFile, clock: systemClock, files: nodeFiles, logger: recordingLogger([]) })
  const said = () => [...readFileSync(logFile, 'utf8').matchAll(/ F (.*)/g)].map(([, text]) => text)
  try {
    output.take('stdout', Buffer.from('first\n'))
    await output.reopen()
    await systemClock.sleep(0)
    output.take('stdout', Buffer.from('second\nthi'))
    assert.deepEqual(said(), ['first', 'second'])
    output.take('stdout', Buffer.from('rd\n'))
    assert.deepEqual(said(), ['first', 'second', 'third'])
    const rotated = output.reopen()
    output.take('stdout', Buffer.from('fourth\n'))
    assert.deepEqual(said(), ['first', 'second', 'third'], 'while the file is changed it waits')
    await rotated
    await output.end(1000)
    assert.deepEqual(said(), ['first', 'second', 'third', 'fourth'])
  } finally {
    await nodeFiles.remove(directory)
  }
})
