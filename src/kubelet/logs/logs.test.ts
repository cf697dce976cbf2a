import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { nodeFiles } from '#base/files.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { containerOfLog } from '#kubelet/logs/container-of-log.ts'
import { parsedEntry, shownTime } from '#kubelet/logs/log-entry.ts'
import { logFilePieces } from '#kubelet/logs/log-file.ts'
import { logLinePieces } from '#kubelet/logs/log-lines.ts'
import { type LogOptions, logOptions } from '#kubelet/logs/log-options.ts'
import type { LogSubject } from '#kubelet/logs/log-subject.ts'
import type { LogLine, ObservedContainer } from '#kubelet/runtimes/runtime.ts'

const directory = mkdtempSync(join(tmpdir(), 'logs-'))
after(() => rmSync(directory, { recursive: true, force: true }))

const ended: LogSubject = {
  isRunning: async () => false,
  onChange: () => ({ [Symbol.dispose]() {} }),
  signal: new AbortController().signal,
}

const all: LogOptions = { follow: false, previous: false, timestamps: false, stream: 'All' }

async function textOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  let text = ''
  for await (const piece of pieces) text += Buffer.from(piece).toString('utf8')
  return text
}

let fileCount = 0
function logFile(content: string): string {
  const path = join(directory, `${fileCount++}.log`)
  writeFileSync(path, content)
  return path
}

const five = [
  '2026-01-01T00:00:01.1Z stdout F one',
  '2026-01-01T00:00:02.22Z stderr F two',
  '2026-01-01T00:00:03.333Z stdout P thr',
  '2026-01-01T00:00:03.333000001Z stdout F ee',
  '2026-01-01T01:00:04.4+01:00 stdout F four',
  '',
].join('\n')

const readings: [string, Partial<LogOptions>, string][] = [
  ['everything', {}, 'one\ntwo\nthree\nfour\n'],
  ['one stream', { stream: 'Stdout' }, 'one\nthree\nfour\n'],
  ['the other stream', { stream: 'Stderr' }, 'two\n'],
  ['the last two entries', { tailLines: 2 }, 'ee\nfour\n'],
  ['more entries than there are', { tailLines: 50 }, 'one\ntwo\nthree\nfour\n'],
  ['no entry', { tailLines: 0 }, ''],
  ['so many bytes', { limitBytes: 9 }, 'one\ntwo\nt'],
  ['since a time', { sinceMs: Date.parse('2026-01-01T00:00:02.22Z') }, 'two\nthree\nfour\n'],
  [
    'with times, one for each line',
    { timestamps: true },
    '2026-01-01T00:00:01.100000000Z one\n2026-01-01T00:00:02.220000000Z two\n2026-01-01T00:00:03.333000000Z three\n2026-01-01T01:00:04.400000000+01:00 four\n',
  ],
  ['some of each', { tailLines: 4, sinceMs: Date.parse('2026-01-01T00:00:03Z'), limitBytes: 8 }, 'three\nfo'],
]
for (const [what, options, expected] of readings) {
  test(`a log file is read: ${what}`, async () => {
    assert.equal(await textOf(logFilePieces(nodeFiles, logFile(five), { ...all, ...options }, ended)), expected)
  })
}

test('a line that is not ended yet is shown; what is no entry is left out', async () => {
  const path = logFile('rubbish\n2026-01-01T00:00:01Z stdin F no\n2026-01-01T00:00:01Z stdout F a b  c\n2026-01-01T00:00:02Z stdout F un')
  assert.equal(await textOf(logFilePieces(nodeFiles, path, all, ended)), 'a b  c\nun')
})

test('files of many blocks are read and tailed', async () => {
  const lines = Array.from({ length: 20_000 }, (_, index) => `2026-01-01T00:00:01.000000000Z stdout F line ${index}`)
  const path = logFile(`${lines.join('\n')}\n`)
  const shown = lines.map((_, index) => `line ${index}\n`)
  assert.equal(await textOf(logFilePieces(nodeFiles, path, all, ended)), shown.join(''))
  assert.equal(await textOf(logFilePieces(nodeFiles, path, { ...all, tailLines: 5000 }, ended)), shown.slice(-5000).join(''))
})

test('a file that is not there is told of', async () => {
  await assert.rejects(textOf(logFilePieces(nodeFiles, join(directory, 'none'), all, ended)), /failed to open log file .*none/)
})

/** A container that runs until `end` is called. */
function running() {
  const listeners = new Set<() => void>()
  const controller = new AbortController()
  let isRunning = true
  const subject: LogSubject = {
    isRunning: async () => isRunning,
    onChange(listener) {
      listeners.add(listener)
      return { [Symbol.dispose]: () => listeners.delete(listener) }
    },
    signal: controller.signal,
  }
  return {
    subject,
    listeners,
    leave: () => controller.abort(),
    end() {
      isRunning = false
      for (const listener of listeners) listener()
    },
  }
}

/** Reads on and on; `until` resolves when the text so far is this. */
function follower(pieces: AsyncIterable<Uint8Array>) {
  let text = ''
  let check = () => {}
  const over = (async () => {
    for await (const piece of pieces) {
      text += Buffer.from(piece).toString('utf8')
      check()
    }
    return text
  })()
  const until = (expected: string) =>
    new Promise<void>((resolve) => {
      check = () => {
        if (text === expected) resolve()
      }
      check()
    })
  return { over, until }
}

const line = (text: string) => `2026-01-01T00:00:01Z stdout F ${text}\n`

test('who follows sees what is written, in the old file and in the one that takes its place, until the container ends', async () => {
  const path = logFile(line('before') + line('last'))
  const { subject, end, listeners } = running()
  const { over, until } = follower(logFilePieces(nodeFiles, path, { ...all, follow: true, tailLines: 1 }, subject))
  await until('last\n')
  appendFileSync(path, '2026-01-01T00:00:01Z stdout F ha')
  appendFileSync(path, 'lf\n')
  await until('last\nhalf\n')
  appendFileSync(path, line('old'))
  renameSync(path, `${path}.20260101-000000`)
  writeFileSync(path, line('new'))
  await until('last\nhalf\nold\nnew\n')
  truncateSync(path)
  appendFileSync(path, line('c'))
  await until('last\nhalf\nold\nnew\nc\n')
  appendFileSync(path, line('farewell'))
  end()
  assert.equal(await over, 'last\nhalf\nold\nnew\nc\nfarewell\n')
  assert.equal(listeners.size, 0)
})

test('a file that takes the place of another while it is opened is read once', async () => {
  const path = logFile(line('old'))
  const { subject, end } = running()
  let hasBegun = false
  const files = {
    ...nodeFiles,
    open(...args: Parameters<typeof nodeFiles.open>) {
      if (!hasBegun) {
        renameSync(path, `${path}.old`)
        writeFileSync(path, line('new'))
      }
      hasBegun = true
      return nodeFiles.open(...args)
    },
  }
  const { over, until } = follower(logFilePieces(files, path, { ...all, follow: true }, subject))
  await until('new\n')
  appendFileSync(path, line('more'))
  await until('new\nmore\n')
  end()
  assert.equal(await over, 'new\nmore\n')
})

test('who stops following leaves nothing behind', async () => {
  const { subject, leave, listeners } = running()
  const { over, until } = follower(logFilePieces(nodeFiles, logFile(line('a')), { ...all, follow: true }, subject))
  await until('a\n')
  leave()
  assert.equal(await over, 'a\n')
  assert.equal(listeners.size, 0)
})

test('who follows gets no more bytes than asked for', async () => {
  const path = logFile(line('abc'))
  const { subject } = running()
  const { over, until } = follower(logFilePieces(nodeFiles, path, { ...all, follow: true, limitBytes: 6 }, subject))
  await until('abc\n')
  appendFileSync(path, line('def'))
  assert.equal(await over, 'abc\nde')
})

test('lines that a runtime keeps are read and followed the same way', async () => {
  const clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'))
  const lines: LogLine[] = [1, 2, 3].map((second) => ({ timeMs: second * 1000, stream: 'stdout', text: `l${second}` }))
  const { subject, end } = running()
  assert.equal(await textOf(logLinePieces(() => lines, { ...all, tailLines: 2 }, subject, clock)), 'l2\nl3\n')
  const { over, until } = follower(logLinePieces(() => lines, { ...all, follow: true, timestamps: true, tailLines: 1 }, subject, clock))
  await until('1970-01-01T00:00:03.000000000Z l3\n')
  lines.push({ timeMs: 4000, stream: 'stderr', text: 'l4' })
  await clock.advance({ seconds: 1 })
  await until('1970-01-01T00:00:03.000000000Z l3\n1970-01-01T00:00:04.000000000Z l4\n')
  end()
  await clock.advance({ seconds: 1 })
  await over
})

test('entries are taken apart, with and without tags and zones', () => {
  const entry = parsedEntry(Buffer.from('2026-01-01T00:00:01Z stderr P:x:y a b\n'))
  assert.deepEqual(entry && { ...entry, content: String(entry.content) }, {
    time: '2026-01-01T00:00:01Z',
    stream: 'stderr',
    content: 'a b',
  })
  assert.equal(String(parsedEntry(Buffer.from('2026-01-01T00:00:01Z stdout F \n'))?.content), '\n')
  for (const text of ['', 'x', '2026-01-01T00:00:01Z', '2026-01-01T00:00:01Z stdout', '2026-01-01T00:00:01Z stdout F', 'now stdout F x']) {
    assert.equal(parsedEntry(Buffer.from(text)), undefined, text)
  }
  assert.equal(shownTime('2026-01-01T00:00:01Z'), '2026-01-01T00:00:01.000000000Z')
  assert.equal(shownTime('2026-01-01T00:00:01.123456789-07:00'), '2026-01-01T00:00:01.123456789-07:00')
})

const queries: [string, LogOptions | RegExp][] = [
  ['', all],
  ['follow=true&previous=1&timestamps=true', { ...all, follow: true, previous: true, timestamps: true }],
  ['follow=false&previous=0', all],
  ['tailLines=5&limitBytes=10', { ...all, tailLines: 5, limitBytes: 10 }],
  ['tail=7', { ...all, tailLines: 7 }],
  ['tail=all', all],
  ['sinceSeconds=10', { ...all, sinceMs: 90_000 }],
  ['sinceTime=1970-01-01T00:00:10Z', { ...all, sinceMs: 10_000 }],
  ['stream=Stderr', { ...all, stream: 'Stderr' }],
  ['stream=Other', /: invalid stream type "Other"$/],
  ['tailLines=x', /Unable to decode query/],
  ['sinceTime=yesterday', /Unable to decode query/],
  ['tailLines=-1', /Invalid request/],
  ['limitBytes=0', /Invalid request/],
  ['sinceSeconds=0', /Invalid request/],
  ['sinceSeconds=1&sinceTime=1970-01-01T00:00:10Z', /Invalid request/],
]
for (const [query, expected] of queries) {
  test(`the query "${query}" means what it says`, () => {
    const read = () => logOptions(new URLSearchParams(query), 100_000)
    if (expected instanceof RegExp) assert.throws(read, expected)
    else assert.deepEqual(read(), expected)
  })
}

const observed = (id: string, attempt: number, state: ObservedContainer['state']): ObservedContainer => ({
  ...{ id, name: 'c', attempt, state, image: '', imageId: '', createdMs: 0 },
})
const podWith = (state: object, lastState: object = {}): V1Pod => ({
  metadata: { name: 'p', namespace: 'n' },
  spec: { containers: [{ name: 'c' }] },
  status: { containerStatuses: [{ name: 'c', image: '', imageID: '', ready: false, restartCount: 0, state, lastState }] },
})
const waiting = (reason: string) => podWith({ waiting: { reason } })

const choices: [string, V1Pod, ObservedContainer[], boolean, string | RegExp][] = [
  ['what runs', waiting('X'), [observed('b', 1, 'running'), observed('a', 0, 'exited')], false, 'b'],
  ['what ran before', podWith({}), [observed('b', 1, 'running'), observed('a', 0, 'exited')], true, 'a'],
  ['what ended', podWith({ terminated: { exitCode: 0, containerID: 'a' } }), [observed('a', 0, 'exited')], false, 'a'],
  [
    'what crashed last, while it waits',
    podWith({ waiting: { reason: 'CrashLoopBackOff' } }, { terminated: { exitCode: 1, containerID: 'b' } }),
    [observed('b', 1, 'exited'), observed('a', 0, 'exited')],
    false,
    'b',
  ],
  [
    'what crashed last, as the previous one',
    podWith({ waiting: { reason: 'CrashLoopBackOff' } }, { terminated: { exitCode: 1, containerID: 'b' } }),
    [observed('b', 1, 'exited'), observed('a', 0, 'exited')],
    true,
    'b',
  ],
  [
    'nothing before the first',
    podWith({ running: {} }),
    [observed('a', 0, 'running')],
    true,
    /: previous terminated container "c" in pod "p" not found$/,
  ],
  ['nothing yet', waiting('ContainerCreating'), [], false, /: container "c" in pod "p" is waiting to start: ContainerCreating$/],
  ['no image', waiting('ErrImagePull'), [], false, /is waiting to start: image can't be pulled$/],
  ['no image for long', waiting('ImagePullBackOff'), [], false, /is waiting to start: trying and failing to pull image$/],
  ['what is gone', podWith({ terminated: { exitCode: 0 } }), [], false, /: container "c" in pod "p" is terminated$/],
  ['no status', { metadata: { name: 'p' }, spec: { containers: [] } }, [], false, /: container "c" in pod "p" is not available$/],
]
for (const [what, pod, containers, previous, expected] of choices) {
  test(`the container of a log: ${what}`, () => {
    const choose = () => containerOfLog(pod, containers, 'c', previous).id
    if (expected instanceof RegExp) assert.throws(choose, expected)
    else assert.equal(choose(), expected)
  })
}
