import type { Clock } from '#base/clock.ts'
import type { SocketAddress, Sockets, UdpSocket } from '#base/sockets.ts'

const dnsPort = 53
const patienceMs = 5000
/** Whoever asks more at once asks again. */
const mostAtOnce = 1000

/** Passes questions on to name servers of the machine's network; the next one gets what the first does not take. */
export function forwardNames(
  nameServers: readonly string[],
  { sockets, clock }: { sockets: Pick<Sockets, 'connectUdp'>; clock: Clock },
): (question: Uint8Array, answer: (message: Uint8Array) => void) => void {
  let underWay = 0
  const ask = (question: Uint8Array, answer: (message: Uint8Array) => void, [first, ...others]: readonly string[]) => {
    if (first === undefined || underWay >= mostAtOnce) return
    underWay++
    let isOver = false
    let socket: UdpSocket | undefined
    const end = () => {
      if (isOver) return false
      isOver = true
      underWay--
      timer[Symbol.dispose]()
      socket?.close()
      return true
    }
    const timer = clock.after(patienceMs, () => void (end() && ask(question, answer, others)))
    const take = (message: Uint8Array) => void (end() && answer(message))
    socket = sockets.connectUdp(
      { host: first, port: dnsPort } satisfies SocketAddress,
      take,
      () => void (end() && ask(question, answer, others)),
    )
    socket.send(question)
  }
  return (question, answer) => ask(question, answer, nameServers)
}
