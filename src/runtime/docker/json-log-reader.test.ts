import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { nodeFiles } from '#base/files.ts'
import { JsonLogReader } from '#runtime/docker/json-log-reader.ts'
import { positionIn } from '#runtime/docker/log-resume.ts'

function aLog() {
  const directory = mkdtempSync(join(tmpdir(), 'tn-json-log-'))
  const path = join(directory, 'c-json.log')
  writeFileSync(path, '')
  let count = 0
  return {
    path,
    /** As Docker writes it: times without zeros at the end. */
    write(log: string, stream = 'stdout') {
      const time = `2026-01-02T03:04:05.${String(++count).padStart(3, '0')}Z`
      appendFileSync(path, `${JSON.stringify({ log, stream, time })}\n`)
    },
    rotate() {
      for (const [from, to] of [
        ['.1', '.2'],
        ['', '.1'],
      ] as const) {
        try {
          renameSync(`${path}${from}`, `${path}${to}`)
        } catch {
          // There is none yet.
        }
      }
      writeFileSync(path, '')
    },
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
  }
}

async function read(reader: JsonLogReader): Promise<string> {
  let text = ''
  for await (const lines of reader.lines()) text += Buffer.from(lines).toString()
  return text
}
const texts = (log: string) =>
  log
    .trimEnd()
    .split('\n')
    .map((line) => line.split(' ').slice(3).join(' '))

test('entries become lines, as far as they are written', async () => {
  using log = aLog()
  const reader = new JsonLogReader(log.path, nodeFiles, undefined)
  assert.equal(await read(reader), '')
  log.write('one\n')
  log.write('trouble\n', 'stderr')
  const first = '2026-01-02T03:04:05.001000000Z stdout F one\n2026-01-02T03:04:05.002000000Z stderr F trouble\n'
  assert.equal(await read(reader), first)
  appendFileSync(log.path, '{"log":"three\\n","str')
  assert.equal(await read(reader), '')
  appendFileSync(log.path, 'eam":"stdout","time":"2026-01-02T03:04:06Z"}\n')
  assert.equal(await read(reader), '2026-01-02T03:04:06.000000000Z stdout F three\n')
  log.write('x'.repeat(16 * 1024))
  log.write('rest\n')
  log.write('last')
  assert.deepEqual((await read(reader)).match(/ [FP] (x|rest|last)/g), [' P x', ' F rest', ' F last'])
  await reader.close()
})

test('nothing is lost when Docker begins new files', async () => {
  using log = aLog()
  const reader = new JsonLogReader(log.path, nodeFiles, undefined)
  log.write('1\n')
  assert.deepEqual(texts(await read(reader)), ['1'])
  log.write('2\n')
  log.rotate()
  log.write('3\n')
  log.rotate()
  log.write('4\n')
  assert.deepEqual(texts(await read(reader)), ['2', '3', '4'])
  assert.equal(reader.hasLost, false)
  for (const text of ['5\n', '6\n', '7\n', '8\n']) {
    log.write(text)
    log.rotate()
  }
  log.write('9\n')
  // The file it was at is gone by its name, and the one after it.
  assert.deepEqual(texts(await read(reader)), ['5', '7', '8', '9'])
  assert.equal(reader.hasLost, true)
  await reader.close()
})

test('an agent that comes back goes on where the last one was, in whichever file', async () => {
  using log = aLog()
  for (let index = 1; index <= 6; index++) {
    log.write(`${index}\n`)
    if (index % 2 === 0 && index < 6) log.rotate()
  }
  const whole = new JsonLogReader(log.path, nodeFiles, undefined)
  const lines = (await read(whole)).trimEnd().split('\n')
  await whole.close()
  assert.equal(lines.length, 6)
  for (let count = 1; count <= 6; count++) {
    const reader = new JsonLogReader(log.path, nodeFiles, positionIn(`${lines.slice(0, count).join('\n')}\n`))
    assert.equal(await read(reader), count === 6 ? '' : `${lines.slice(count).join('\n')}\n`)
    await reader.close()
  }
})
