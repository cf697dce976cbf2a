/** Name servers that exist for a test: they answer by a function, after as long as it says, in the test's time. */
import { Duplex } from 'node:stream'
import type { Clock } from '#base/clock.ts'
import type { SocketAddress, Sockets } from '#base/sockets.ts'
import { messageReader } from '#dns/server/message-frames.ts'
import type { DnsMessage } from '#wire/dns/dns-message.ts'
import { readMessage } from '#wire/dns/read-message.ts'
import { writeMessage } from '#wire/dns/write-message.ts'

export type FakeAnswer = Partial<DnsMessage> & { afterMs?: number }
/** Undefined: there is no answer. */
export type Answering = (query: DnsMessage, how: { protocol: 'udp' | 'tcp'; server: string }) => FakeAnswer | undefined

export class FakeUpstreams {
  /** `server protocol name type`, as they came. */
  readonly asked: string[] = []
  readonly sockets: Sockets
  answering: Answering

  constructor(clock: Clock, answering: Answering) {
    this.answering = answering
    const answer = (packet: Uint8Array, to: SocketAddress, protocol: 'udp' | 'tcp', send: (packet: Buffer) => void) => {
      const query = readMessage(packet)
      const [question] = query.questions
      const server = `${to.host}:${to.port}`
      this.asked.push(`${server} ${protocol} ${question?.name} ${question?.type}`)
      const given = this.answering(query, { protocol, server })
      if (given === undefined) return
      const { afterMs = 0, ...message } = given
      clock.after(afterMs, () =>
        send(writeMessage({ ...query, isResponse: true, isRecursionAvailable: true, ...message }, protocol === 'udp' ? 1232 : 65_535)),
      )
    }
    const none = () => {
      throw new Error('a fake has no listeners')
    }
    this.sockets = {
      listenTcp: none,
      bindUdp: none,
      connectUdp(to, onMessage) {
        let isOpen = true
        return {
          port: 0,
          send: (packet) => answer(packet, to, 'udp', (bytes) => isOpen && onMessage(bytes)),
          close() {
            isOpen = false
          },
        }
      },
      async connectTcp(to) {
        const stream = new Duplex({
          read() {},
          write(chunk: Buffer, _encoding, done) {
            read(chunk)
            done()
          },
        })
        const read = messageReader((packet) =>
          answer(
            packet,
            to,
            'tcp',
            (bytes) => void (stream.destroyed || stream.push(Buffer.concat([Buffer.of(bytes.length >> 8, bytes.length & 0xff), bytes]))),
          ),
        )
        return { stream, remote: to, destroy: () => stream.destroy() }
      },
    }
  }
}
