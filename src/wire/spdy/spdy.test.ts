import assert from 'node:assert/strict'
import { duplexPair } from 'node:stream'
import { test } from 'node:test'
import { constants, createDeflate, createInflate, deflateRawSync } from 'node:zlib'
import { seededRandom } from '#base/random.ts'
import { SpdyConnection, type SpdyStream } from '#wire/spdy/connection.ts'
import { dataHead, encodedFrame, FrameReader, type SentFrame } from '#wire/spdy/frames.ts'
import { HeaderReader, HeaderWriter } from '#wire/spdy/header-block.ts'
import { headerDictionary } from '#wire/spdy/header-dictionary.ts'
import { Inflater } from '#wire/spdy/inflate.ts'

/** As senders do: one stream for the connection, flushed after each block. */
function flushing(compressor: NodeJS.ReadWriteStream & { flush(kind: number, done: () => void): void }) {
  const pieces: Buffer[] = []
  compressor.on('data', (piece: Buffer) => pieces.push(piece))
  return (bytes: Uint8Array): Promise<Buffer> =>
    new Promise((resolve) => {
      compressor.write(bytes)
      compressor.flush(constants.Z_SYNC_FLUSH, () => resolve(Buffer.concat(pieces.splice(0))))
    })
}

test('blocks that zlib compressed with the dictionary are read in their order', async () => {
  const compress = flushing(createDeflate({ dictionary: Buffer.from(headerDictionary), level: 9 }))
  const reader = new HeaderReader()
  for (const headers of [{ streamtype: 'error' }, { streamtype: 'stdin', port: '8080', requestid: '0' }, {}, { streamtype: 'stdin' }]) {
    const plain = Buffer.concat([
      number(Object.keys(headers).length),
      ...Object.entries(headers).flatMap(([name, value]) => [
        number(name.length),
        Buffer.from(name),
        number(value.length),
        Buffer.from(value),
      ]),
    ])
    assert.deepEqual(reader.read(await compress(plain)), headers)
  }
})

test('blocks that are written are understood by zlib, and by the reader', async () => {
  const writer = new HeaderWriter()
  const reader = new HeaderReader()
  const inflate = createInflate({ dictionary: Buffer.from(headerDictionary) })
  for (const headers of [{ streamtype: 'stdout' }, { a: 'x'.repeat(100_000), b: '' }, {}]) {
    const block = writer.write(headers)
    assert.deepEqual(reader.read(block), headers)
    const [name, value] = Object.entries(headers)[0] ?? ['', '']
    const plain = await new Promise<Buffer>((resolve) => {
      const pieces: Buffer[] = []
      const take = (piece: Buffer) => pieces.push(piece)
      inflate.on('data', take)
      inflate.write(block)
      inflate.flush(() => {
        inflate.off('data', take)
        resolve(Buffer.concat(pieces))
      })
    })
    assert.equal(plain.readUInt32BE(0), Object.keys(headers).length)
    if (name !== '') assert.ok(plain.includes(name) && plain.includes(value))
  }
})

test('whatever zlib compresses is decompressed, at every level and strategy', () => {
  const seed = 7
  const random = seededRandom(seed)
  for (let round = 0; round < 60; round++) {
    const alphabet = 1 + random.int(255)
    const bytes = Buffer.from(Array.from({ length: random.int(20_000) }, () => random.int(alphabet)))
    const strategy = [constants.Z_DEFAULT_STRATEGY, constants.Z_FIXED, constants.Z_HUFFMAN_ONLY, constants.Z_RLE][round % 4] as number
    const compressed = deflateRawSync(bytes, { level: round % 10, strategy, dictionary: Buffer.from(headerDictionary) })
    const inflated = new Inflater(headerDictionary, 1 << 20).inflate(compressed)
    assert.ok(bytes.equals(inflated), `seed ${seed}, round ${round}`)
  }
})

test('compressed nonsense is refused, and never more is made of it than allowed', () => {
  const random = seededRandom(3)
  for (let round = 0; round < 300; round++) {
    const nonsense = Buffer.from(Array.from({ length: 1 + random.int(60) }, () => random.int(256)))
    try {
      assert.ok(new Inflater(headerDictionary, 5000).inflate(nonsense).length <= 5000)
    } catch (error) {
      assert.equal((error as Error).name, 'InflateError', String((error as Error).stack))
    }
  }
  assert.throws(() => new Inflater(headerDictionary, 1000).inflate(deflateRawSync(Buffer.alloc(100_000))), /more than 1000 bytes/)
})

const sent: [SentFrame, string][] = [
  [{ type: 'synStream', streamId: 1, isLast: false, headerBlock: Uint8Array.of(9) }, '800300010000000b0000000100000000000009'],
  [{ type: 'synReply', streamId: 1, isLast: true, headerBlock: Uint8Array.of(9) }, '80030002010000050000000109'],
  [{ type: 'headers', streamId: 3, isLast: false, headerBlock: Uint8Array.of(9) }, '80030008000000050000000309'],
  [{ type: 'reset', streamId: 5, status: 5 }, '80030003000000080000000500000005'],
  [{ type: 'ping', id: 7 }, '800300060000000400000007'],
  [{ type: 'goAway', lastStreamId: 9, status: 0 }, '80030007000000080000000900000000'],
]
for (const [frame, hex] of sent) {
  test(`a ${frame.type} frame has the bytes of the protocol, and is read from them`, () => {
    assert.equal(Buffer.from(encodedFrame(frame)).toString('hex'), hex)
    const [read] = new FrameReader().read(Buffer.from(hex, 'hex'))
    assert.deepEqual(read, frame.type.includes('ea') || frame.type.startsWith('syn') ? { ...frame, headerBlock: Buffer.of(9) } : frame)
  })
}

test('frames are found however the bytes arrive', () => {
  const frames = Buffer.concat([
    encodedFrame({ type: 'ping', id: 1 }),
    Buffer.from('0000000301000002', 'hex'),
    Buffer.from('hi'),
    // Settings, which are of no concern.
    Buffer.from('8003000400000004', 'hex'),
    Buffer.alloc(4),
  ])
  for (let size = 1; size <= frames.length; size++) {
    const reader = new FrameReader()
    const found = []
    for (let start = 0; start < frames.length; start += size) found.push(...reader.read(frames.subarray(start, start + size)))
    assert.deepEqual(
      found.map(({ type }) => type),
      ['ping', 'data', 'other'],
    )
    assert.deepEqual(found[1], { type: 'data', streamId: 3, isLast: true, data: Buffer.from('hi') })
  }
})

test('a control frame of more than 64 KiB is refused before it is there, and data is not', () => {
  assert.throws(() => new FrameReader().read(Buffer.from('8003000100010000', 'hex')), /too large/)
  assert.deepEqual(new FrameReader().read(Buffer.from('8003000100001000', 'hex')), [])
  assert.deepEqual(new FrameReader().read(Buffer.from('0000000100ffffff', 'hex')), [])
})

test('what came with the upgrade is read first, once the connection is there', async () => {
  const [client, server] = duplexPair()
  const head = encodedFrame({ type: 'synStream', streamId: 1, isLast: false, headerBlock: new HeaderWriter().write({}) })
  client.write(Buffer.concat([dataHead(1, 2, true), Buffer.from('hi')]))
  const heard: string[] = []
  const connection = new SpdyConnection({
    ...{ socket: server, head, role: 'server' },
    onStream(stream) {
      heard.push(`stream, closed: ${connection.isClosed}`)
      stream.onData = (data) => void heard.push(Buffer.from(data).toString())
      return true
    },
  })
  while (heard.length < 2) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(heard, ['stream, closed: false', 'hi'])
})

function pair(onStream: (stream: SpdyStream) => boolean) {
  const [left, right] = duplexPair()
  return {
    client: new SpdyConnection({ socket: left, role: 'client' }),
    server: new SpdyConnection({ socket: right, role: 'server', onStream }),
  }
}

test('a stream carries data both ways, and each way ends by itself', async () => {
  const heard: string[] = []
  const { client } = pair((stream) => {
    heard.push(stream.headers['streamtype'] ?? '')
    stream.onData = (data) => stream.write(Buffer.from(String(data).toUpperCase()))
    stream.onEnd = () => {
      stream.write(Buffer.from('!'))
      stream.end()
    }
    return true
  })
  const stream = client.open({ streamType: 'stdin' })
  const got: string[] = []
  stream.onData = (data) => got.push(String(data))
  const ended = new Promise<void>((resolve) => {
    stream.onEnd = resolve
  })
  stream.write(Buffer.from('hello'))
  stream.end()
  await ended
  assert.deepEqual([heard, got.join('')], [['stdin'], 'HELLO!'])
})

test('large data arrives whole, in frames of a bearable size', async () => {
  const size = 1_000_000
  let got = 0
  let largest = 0
  const { client, server } = pair((stream) => {
    stream.onData = (data) => {
      got += data.length
      largest = Math.max(largest, data.length)
    }
    stream.onEnd = () => server.close()
    return true
  })
  const stream = client.open({ streamtype: 'stdin' })
  stream.write(Buffer.alloc(size))
  stream.end()
  await new Promise<void>((resolve) => client.onClose(resolve))
  assert.deepEqual([got, largest], [size, 64 * 1024])
})

test('a refused stream is reset, and so are all when the connection ends', async () => {
  const { client, server } = pair((stream) => stream.headers['streamtype'] !== 'no')
  const events: string[] = []
  const refused = client.open({ streamtype: 'no' })
  const wasReset = new Promise<void>((resolve) => {
    refused.onReset = () => {
      events.push('refused')
      resolve()
    }
  })
  const open = client.open({ streamtype: 'yes' })
  open.onReset = () => events.push('reset')
  open.onEnd = () => events.push('end')
  await wasReset
  server.destroy()
  await new Promise<void>((resolve) => client.onClose(resolve))
  assert.deepEqual(events, ['refused', 'reset', 'end'])
  assert.equal(client.isClosed, true)
})

test('who answers at once has agreed to the stream first', async () => {
  const [left, right] = duplexPair()
  const frames: string[] = []
  const reader = new FrameReader()
  const over = new Promise<void>((resolve) => {
    left.on('data', (bytes: Buffer) => {
      for (const { type } of reader.read(bytes)) frames.push(type)
      if (frames.length === 3) resolve()
    })
  })
  new SpdyConnection({
    ...{ socket: right, role: 'server' },
    onStream(stream) {
      stream.write(Buffer.from('early'))
      stream.end()
      return true
    },
  })
  left.write(encodedFrame({ type: 'synStream', streamId: 1, isLast: false, headerBlock: new HeaderWriter().write({}) }))
  await over
  assert.deepEqual(frames, ['synReply', 'data', 'data'])
})

test('pings of the other end are answered, and nonsense ends the connection', async () => {
  const [left, right] = duplexPair()
  const server = new SpdyConnection({ socket: right, role: 'server' })
  const answer = new Promise<string>((resolve) => left.once('data', (data: Buffer) => resolve(data.toString('hex'))))
  left.write(encodedFrame({ type: 'ping', id: 11 }))
  assert.equal(await answer, '80030006000000040000000b')
  left.write(Buffer.from('9999000100000000', 'hex'))
  await new Promise<void>((resolve) => server.onClose(resolve))
})

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

test('pings are answered, and who sends them without end is cut off', async () => {
  const answersTo = async (count: number) => {
    const [client, server] = duplexPair()
    const connection = new SpdyConnection({ socket: server, role: 'server' })
    const reader = new FrameReader()
    let answers = 0
    client.on('data', (piece: Buffer) => {
      answers += reader.read(piece).length
    })
    client.on('error', () => {})
    for (let id = 1; id < 2 * count; id += 2) client.write(encodedFrame({ type: 'ping', id }))
    while (answers < count && !connection.isClosed) await new Promise((resolve) => setImmediate(resolve))
    return { answers, isClosed: connection.isClosed }
  }
  assert.deepEqual(await answersTo(20), { answers: 20, isClosed: false })
  assert.equal((await answersTo(1000)).isClosed, true)
})

test('who opens streams that are refused, and does not read it, is cut off', async () => {
  const [client, server] = duplexPair()
  const connection = new SpdyConnection({ socket: server, role: 'server' })
  const writer = new HeaderWriter()
  for (let streamId = 1; !connection.isClosed; streamId += 2) {
    client.write(encodedFrame({ type: 'synStream', streamId, isLast: false, headerBlock: writer.write({}) }))
    if (streamId % 1000 === 1) await new Promise((resolve) => setImmediate(resolve))
  }
})

test('one end has so many streams of the other at once, and no more', async () => {
  const [client, server] = duplexPair()
  let open = 0
  new SpdyConnection({
    socket: server,
    role: 'server',
    onStream: () => {
      open++
      return true
    },
  })
  const writer = new HeaderWriter()
  const reader = new FrameReader()
  let refused = 0
  client.on('data', (piece: Buffer) => {
    refused += reader.read(piece).filter(({ type }) => type === 'reset').length
  })
  for (let streamId = 1; refused === 0; streamId += 2) {
    client.write(encodedFrame({ type: 'synStream', streamId, isLast: false, headerBlock: writer.write({}) }))
    if (streamId % 1000 === 1) await new Promise((resolve) => setImmediate(resolve))
  }
  assert.equal(open, 10_000)
})

test('of frames that come by the thousand some are taken in each turn, and all of them in order', async () => {
  const [client, server] = duplexPair()
  const turns: (() => void)[] = []
  const taken: number[] = []
  let hasEnded = false
  new SpdyConnection({
    socket: server,
    role: 'server',
    soon: (callback) => void turns.push(callback),
    onStream: (stream) => {
      stream.onData = (data) => void taken.push(data[0] ?? 0)
      stream.onEnd = () => {
        hasEnded = true
      }
      return true
    },
  })
  client.resume()
  const count = 2000
  const head = encodedFrame({ type: 'synStream', streamId: 1, isLast: false, headerBlock: new HeaderWriter().write({}) })
  const frames = Array.from({ length: count }, (_, index) => [dataHead(1, 1, false), Uint8Array.of(index % 256)]).flat()
  client.write(Buffer.concat([head, ...frames, dataHead(1, 0, true)]))
  while (turns.length === 0) await new Promise((resolve) => setImmediate(resolve))
  let rounds = 0
  for (; turns.length > 0; rounds++) {
    const before = taken.length
    assert.equal(turns.length, 1)
    turns.shift()?.()
    assert.ok(taken.length - before <= 256)
  }
  assert.equal(rounds, 7)
  assert.deepEqual([taken, hasEnded], [Array.from({ length: count }, (_, index) => index % 256), true])
})

test('of headers that unpack to megabytes few are taken in a turn', async () => {
  const [client, server] = duplexPair()
  const turns: (() => void)[] = []
  let opened = 0
  new SpdyConnection({
    socket: server,
    role: 'server',
    soon: (callback) => void turns.push(callback),
    onStream: () => {
      opened++
      return true
    },
  })
  client.resume()
  const compress = flushing(createDeflate({ dictionary: Buffer.from(headerDictionary), level: 9 }))
  const plain = Buffer.concat([number(1), number(1), Buffer.from('a'), number(1_000_000), Buffer.alloc(1_000_000)])
  const frames: Uint8Array[] = []
  for (let streamId = 1; streamId < 40; streamId += 2) {
    frames.push(encodedFrame({ type: 'synStream', streamId, isLast: false, headerBlock: await compress(plain) }))
  }
  client.write(Buffer.concat(frames))
  while (turns.length === 0) await new Promise((resolve) => setImmediate(resolve))
  assert.ok(opened > 0 && opened < 10, `${opened} at once`)
  for (let next = turns.shift(); next !== undefined; next = turns.shift()) next()
  assert.equal(opened, 20)
})
