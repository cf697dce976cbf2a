/** One question to one other server. */

import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Random } from '#base/random.ts'
import type { SocketAddress, Sockets } from '#base/sockets.ts'
import type { DnsRequest } from '#dns/handler.ts'
import { messageReader } from '#dns/server/message-frames.ts'
import type { DnsMessage } from '#wire/dns/dns-message.ts'
import { readMessage } from '#wire/dns/read-message.ts'
import { rcodes } from '#wire/dns/record-type.ts'
import { writeMessage } from '#wire/dns/write-message.ts'

export type UpstreamSeams = { clock: Clock; random: Random; sockets: Sockets }

export type UpstreamQuestion = Pick<DnsRequest, 'asked' | 'type' | 'class' | 'isRecursionDesired' | 'isDnssecOk' | 'isCheckingDisabled'>

/** What goes through networks without being taken apart (DNS flag day 2020). */
const payloadBytes = 1232

/** Rejects where there is no answer within the time. An answer to anything but this question is not one. */
export async function askUpstream(
  to: SocketAddress,
  question: UpstreamQuestion,
  { protocol, timeoutMs }: { protocol: 'udp' | 'tcp'; timeoutMs: number },
  seams: UpstreamSeams,
): Promise<DnsMessage> {
  const ask = protocol === 'udp' ? askByUdp : askByTcp
  const answer = await ask(to, questionMessage(question, seams.random, true), timeoutMs, seams)
  const knowsEdns = answer.edns !== undefined || (answer.rcode !== rcodes.FORMERR && answer.rcode !== rcodes.NOTIMP)
  // Some old servers refuse what they do not know.
  return knowsEdns ? answer : await ask(to, questionMessage(question, seams.random, false), timeoutMs, seams)
}

function questionMessage(question: UpstreamQuestion, random: Random, withEdns: boolean): DnsMessage {
  const [high = 0, low = 0] = random.bytes(2)
  return {
    ...{ id: high * 256 + low, opcode: 0, isResponse: false, isAuthoritative: false, isTruncated: false },
    ...{ isRecursionDesired: question.isRecursionDesired, isRecursionAvailable: false, isAuthenticated: false },
    ...{ isCheckingDisabled: question.isCheckingDisabled, rcode: 0 },
    questions: [{ name: question.asked, type: question.type, class: question.class }],
    ...{ answers: [], authority: [], additional: [] },
    ...defined({ edns: withEdns ? { version: 0, payloadBytes, isDnssecOk: question.isDnssecOk } : undefined }),
  }
}

function isAnswerTo(query: DnsMessage, answer: DnsMessage): boolean {
  const [asked] = query.questions
  const [given] = answer.questions
  if (!answer.isResponse || answer.id !== query.id) return false
  // Servers that cannot read a question repeat none.
  if (given === undefined) return answer.rcode !== rcodes.NOERROR
  return given.type === asked?.type && given.class === asked.class && given.name.toLowerCase() === asked.name.toLowerCase()
}

/** A socket of its own for each question: a port that nobody can guess. */
function askByUdp(to: SocketAddress, query: DnsMessage, timeoutMs: number, { clock, sockets }: UpstreamSeams): Promise<DnsMessage> {
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void) => {
      timer.cancel()
      socket.close()
      settle()
    }
    const socket = sockets.connectUdp(
      to,
      (packet) => {
        const answer = readOrUndefined(packet)
        // Whoever guesses wrong is not listened to, and the right answer is waited for.
        if (answer !== undefined && isAnswerTo(query, answer)) finish(() => resolve(answer))
      },
      () => finish(() => reject(new Error(`read udp ${to.host}:${to.port}: connection refused`))),
    )
    const timer = clock.after(timeoutMs, () => finish(() => reject(new Error(`read udp ${to.host}:${to.port}: i/o timeout`))))
    socket.send(writeMessage(query))
  })
}

async function askByTcp(to: SocketAddress, query: DnsMessage, timeoutMs: number, { clock, sockets }: UpstreamSeams): Promise<DnsMessage> {
  const connection = await sockets.connectTcp(to, timeoutMs)
  try {
    return await new Promise<DnsMessage>((resolve, reject) => {
      const timer = clock.after(timeoutMs, () => reject(new Error(`read tcp ${to.host}:${to.port}: i/o timeout`)))
      const fail = () => {
        timer.cancel()
        reject(new Error(`read tcp ${to.host}:${to.port}: the connection was closed without an answer`))
      }
      connection.stream.on('error', fail).on('close', fail).on('end', fail)
      const read = messageReader((packet) => {
        const answer = readOrUndefined(packet)
        if (answer === undefined || !isAnswerTo(query, answer)) return
        timer.cancel()
        resolve(answer)
      })
      connection.stream.on('data', read)
      const packet = writeMessage(query)
      connection.stream.write(Buffer.concat([Buffer.of(packet.length >> 8, packet.length & 0xff), packet]))
    })
  } finally {
    connection.destroy()
  }
}

function readOrUndefined(packet: Uint8Array): DnsMessage | undefined {
  try {
    return readMessage(packet)
  } catch {
    return undefined
  }
}
