import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Random, seededRandom } from '#base/random.ts'
import { type DnsMessage, type DnsRecord, type DnsRecordData, MalformedMessage } from '#wire/dns/dns-message.ts'
import { escapedLabel, isWithin, labelsOf, readName, zoneOf } from '#wire/dns/dns-name.ts'
import { canonicalIp, ipv6Groups, ipv6Text } from '#wire/dns/ip-bytes.ts'
import { readMessage } from '#wire/dns/read-message.ts'
import { recordTypeName, recordTypeNumber } from '#wire/dns/record-type.ts'
import { writeMessage } from '#wire/dns/write-message.ts'

const blank: DnsMessage = {
  ...{
    id: 7,
    opcode: 0,
    isResponse: true,
    isAuthoritative: true,
    isTruncated: false,
    isRecursionDesired: true,
    isRecursionAvailable: false,
  },
  ...{ isAuthenticated: false, isCheckingDisabled: false, rcode: 0, questions: [], answers: [], authority: [], additional: [] },
}
const question = { name: 'web.shop.svc.cluster.local.', type: 1, class: 1 }
const record = (data: DnsRecordData, name = question.name): DnsRecord => ({ name, class: 1, ttlSeconds: 30, ...data })
const authority: DnsRecordData = {
  ...{ type: 'SOA', primary: 'ns.dns.cluster.local.', mailbox: 'hostmaster.cluster.local.', serial: 4_000_000_000, refreshSeconds: 7200 },
  ...{ retrySeconds: 1800, expireSeconds: 86_400, minimumSeconds: 30 },
}

describe('DNS messages', () => {
  test('every kind of record comes back as it was written', () => {
    const message: DnsMessage = {
      ...blank,
      questions: [question],
      answers: [
        record({ type: 'A', address: '10.96.0.10' }),
        record({ type: 'AAAA', address: 'fd00:10:96::a' }),
        record({ type: 'CNAME', target: 'example.com.' }),
        record({ type: 'SRV', priority: 0, weight: 50, port: 5353, target: 'a.web.shop.svc.cluster.local.' }),
        record({ type: 'PTR', target: 'a.web.shop.svc.cluster.local.' }, '10.0.96.10.in-addr.arpa.'),
        record({ type: 'MX', preference: 10, target: 'mail.example.com.' }),
        record({ type: 'TXT', texts: ['1.1.0', 'caf\u00e9', ''] }),
        record({ type: 'OTHER', number: 65, data: Uint8Array.of(0, 1, 0) }),
        record({ type: 'DNAME', target: 'example.org.' }),
        record({ type: 'NS', target: '.' }),
      ],
      authority: [record(authority, 'cluster.local.')],
      additional: [record({ type: 'A', address: '255.0.0.1' }, 'odd\\.label.sp\\032ace.')],
      edns: { version: 0, payloadBytes: 1232, isDnssecOk: true },
      rcode: 16,
    }
    assert.deepEqual(readMessage(writeMessage(message)), message)
  })

  test('a name that stands already is pointed at, but not from within SRV', () => {
    const one = writeMessage({ ...blank, questions: [question], answers: [record({ type: 'A', address: '10.0.0.1' })] })
    assert.equal(one.length, 12 + 28 + 4 + 2 + 10 + 4)
    const srv = writeMessage({
      ...blank,
      questions: [question],
      answers: [record({ type: 'SRV', priority: 0, weight: 0, port: 1, target: question.name })],
    })
    assert.equal(srv.length, 12 + 28 + 4 + 2 + 10 + 6 + 28)
  })

  test('what finds no room is left out, and the message says so', () => {
    const answers = Array.from({ length: 100 }, (_, index) => record({ type: 'A', address: `10.0.0.${index}` }))
    const edns = { version: 0, payloadBytes: 512, isDnssecOk: false }
    const packet = writeMessage({ ...blank, questions: [question], answers, edns }, 512)
    const read = readMessage(packet)
    assert.ok(packet.length <= 512 && packet.length > 490, String(packet.length))
    assert.ok(read.isTruncated)
    assert.deepEqual(read.answers, answers.slice(0, read.answers.length))
    assert.deepEqual(read.edns, edns)
    assert.equal(readMessage(writeMessage({ ...blank, questions: [question], answers }, 65_535)).answers.length, 100)
  })

  test('a record that was left out leaves no name behind to be pointed at', () => {
    const wide = record({ type: 'TXT', texts: ['x'.repeat(255), 'x'.repeat(255)] }, 'long.other.example.')
    const small = record({ type: 'A', address: '10.0.0.1' }, 'long.other.example.')
    const read = readMessage(writeMessage({ ...blank, questions: [question], answers: [wide], additional: [small] }, 512))
    assert.deepEqual([read.isTruncated, read.answers.length, read.additional.length], [true, 0, 0])
  })

  const hostile: [string, number[]][] = [
    ['a pointer to itself', [0xc0, 12]],
    ['a pointer forwards', [0xc0, 14, 0, 0]],
    ['two pointers at each other', [0xc0, 14, 0xc0, 12]],
    ['a label past the end', [63, 1, 2]],
    ['a label of the forms that nobody uses', [0x40, 0]],
    ['no end', [1, 0x61]],
    ['half a pointer', [0xc0]],
  ]
  for (const [what, bytes] of hostile) {
    test(`${what} is refused`, () => {
      assert.throws(() => readName(Uint8Array.of(...new Array<number>(12).fill(0), ...bytes), 12), MalformedMessage)
    })
  }

  test('a name of more than 255 bytes is refused, however it is put together', () => {
    const labels = Array.from({ length: 5 }, () => [50, ...new Array<number>(50).fill(0x61)]).flat()
    assert.throws(() => readName(Uint8Array.of(...labels, 0), 0), MalformedMessage)
    assert.throws(() => writeMessage({ ...blank, questions: [{ ...question, name: `${'a'.repeat(60)}.`.repeat(5) }] }), MalformedMessage)
    assert.throws(() => writeMessage({ ...blank, questions: [{ ...question, name: `${'a'.repeat(64)}.` }] }), MalformedMessage)
  })

  test('a name of more pointers than it can have labels is refused', () => {
    const packet = Buffer.alloc(12 + 1 + 2 * 127 + 4)
    packet.writeUInt16BE(1, 4)
    // The root, and a chain of pointers that leads to it.
    for (let index = 0; index < 127; index++) packet.writeUInt16BE(0xc000 | (index === 0 ? 12 : 11 + 2 * index), 13 + 2 * index)
    assert.equal(readName(packet, 13 + 2 * 125).name, '.')
    assert.throws(() => readName(packet, 13 + 2 * 126), /too many pointers/)
  })

  test('counts that promise more than there is are refused', () => {
    const packet = Buffer.alloc(12)
    packet.writeUInt16BE(65_535, 6)
    assert.throws(() => readMessage(packet), MalformedMessage)
  })

  test('messages made by chance come back; broken ones are refused in no other way than as broken', () => {
    for (let seed = 1; seed <= 300; seed++) {
      const random = seededRandom(seed)
      const message = randomMessage(random)
      const packet = writeMessage(message)
      assert.deepEqual(readMessage(packet), message, `seed ${seed}`)
      for (let round = 0; round < 30; round++) {
        const broken = Buffer.from(packet)
        for (let hits = random.int(6) + 1; hits > 0; hits--) broken[random.int(broken.length)] = random.int(256)
        const cut = broken.subarray(0, random.int(3) === 0 ? random.int(broken.length) : broken.length)
        try {
          const read = readMessage(cut)
          // What was read can be written, and says the same again.
          assert.deepEqual(readMessage(writeMessage(read)).questions, read.questions, `seed ${seed}`)
        } catch (error) {
          assert.ok(error instanceof MalformedMessage, `seed ${seed}: ${error}`)
        }
      }
    }
  })
})

function randomMessage(random: Random): DnsMessage {
  const label = () => escapedLabel(Buffer.from(random.bytes(1 + random.int(8))).toString('latin1'))
  const tails = ['cluster.local.', 'example.', '.']
  const name = () => {
    const head = Array.from({ length: random.int(4) }, label)
    const tail = tails[random.int(tails.length)] ?? '.'
    return head.length === 0 ? tail : `${head.join('.')}.${tail === '.' ? '' : tail}`
  }
  const made = (): DnsRecord => {
    const kinds: (() => DnsRecordData)[] = [
      () => ({ type: 'A', address: [...random.bytes(4)].join('.') }),
      () => ({ type: 'AAAA', address: ipv6Text(Array.from({ length: 8 }, () => (random.int(2) === 0 ? 0 : random.int(65_536)))) }),
      () => ({ type: 'CNAME', target: name() }),
      () => ({ type: 'SRV', priority: random.int(65_536), weight: random.int(65_536), port: random.int(65_536), target: name() }),
      () => ({
        type: 'TXT',
        texts: Array.from({ length: 1 + random.int(3) }, () => Buffer.from(random.bytes(random.int(255))).toString('latin1')),
      }),
      () => ({ type: 'OTHER', number: 1000 + random.int(100), data: random.bytes(random.int(40)) }),
      () => ({ ...authority, primary: name(), mailbox: name(), serial: random.int(2 ** 32) }) as DnsRecordData,
    ]
    const data = (kinds[random.int(kinds.length)] as () => DnsRecordData)()
    return { name: name(), class: 1, ttlSeconds: random.int(2 ** 31), ...data }
  }
  const some = () => Array.from({ length: random.int(5) }, made)
  return {
    ...blank,
    id: random.int(65_536),
    questions: [{ ...question, name: name() }],
    answers: some(),
    authority: some(),
    additional: some(),
  }
}

describe('names and addresses', () => {
  test('labels are told apart at dots that are not escaped', () => {
    assert.deepEqual(labelsOf('a.b\\.c.d.'), ['a', 'b\\.c', 'd'])
    assert.deepEqual(labelsOf('.'), [])
  })
  test('a zone holds its own name and those below it, and no others', () => {
    assert.ok(isWithin('a.cluster.local.', 'cluster.local.'))
    assert.ok(isWithin('cluster.local.', 'cluster.local.'))
    assert.ok(!isWithin('mycluster.local.', 'cluster.local.'))
    assert.ok(isWithin('anything.', '.'))
    assert.equal(zoneOf('a.b.c.', ['.', 'c.', 'b.c.']), 'b.c.')
    assert.equal(zoneOf('a.b.d.', ['c.']), undefined)
  })
  test('addresses have one text', () => {
    const texts: [string, string | undefined][] = [
      ['10.0.0.1', '10.0.0.1'],
      ['10.0.0.01', undefined],
      ['10.0.0', undefined],
      ['10.0.0.256', undefined],
      ['FD00:0:0:0:0:0:0:A', 'fd00::a'],
      ['::', '::'],
      ['::ffff:10.0.0.1', '::ffff:a00:1'],
      ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
      ['1::2::3', undefined],
      ['1:2:3:4:5:6:7', undefined],
      ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
    ]
    for (const [text, expected] of texts) assert.equal(canonicalIp(text), expected, text)
    assert.deepEqual(ipv6Groups('fd00::1'), [0xfd00, 0, 0, 0, 0, 0, 0, 1])
  })
  test('types have names, and those without one have numbers', () => {
    assert.deepEqual(['A', 'aaaa', 'TYPE65280', 'NOPE'].map(recordTypeNumber), [1, 28, 65_280, undefined])
    assert.deepEqual([recordTypeName(33), recordTypeName(65_280)], ['SRV', 'TYPE65280'])
  })
})
