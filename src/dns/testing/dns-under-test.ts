/** A server without sockets, in virtual time, by a Corefile. */
import { type Files, nodeFiles } from '#base/files.ts'
import { type LogRecord, recordingLogger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import { seededRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { type BuiltBlock, buildBlocks } from '#dns/build-blocks.ts'
import { parseCorefile } from '#dns/corefile/parse-corefile.ts'
import { dnsMetrics } from '#dns/dns-metrics.ts'
import { type DnsRequest, type DnsResponse, ownRequest } from '#dns/handler.ts'
import { blockFor } from '#dns/server/answer-packet.ts'
import { type Answering, FakeUpstreams } from '#dns/testing/fake-upstream.ts'
import { ClusterNames } from '#dns/zone/cluster-names.ts'
import { rcodeName, recordTypeNumber } from '#wire/dns/record-type.ts'

export class DnsUnderTest {
  readonly clock = new VirtualClock()
  readonly metrics = new Metrics()
  readonly log: LogRecord[] = []
  readonly names = new ClusterNames(() => this.clock.now())
  readonly upstreams: FakeUpstreams
  hasSynced = true
  blocks: BuiltBlock[] = []

  private constructor(answering: Answering) {
    this.upstreams = new FakeUpstreams(this.clock, answering)
  }

  static async start(
    corefile: string,
    { answering = () => undefined, files = nodeFiles }: { answering?: Answering; files?: Files } = {},
  ): Promise<DnsUnderTest> {
    const dns = new DnsUnderTest(answering)
    const shared = {
      ...{ clock: dns.clock, random: seededRandom(1), files, sockets: dns.upstreams.sockets, logger: recordingLogger(dns.log) },
      ...{ metrics: dnsMetrics(dns.metrics), metricsText: () => dns.metrics.text() },
      cluster: { names: dns.names, hasSynced: () => dns.hasSynced, followPods: () => {}, ownAddresses: ['172.30.0.1'] },
    }
    dns.blocks = await buildBlocks(parseCorefile(corefile), shared, async (name, type, like) => dns.handle(ownRequest(name, type, like)))
    return dns
  }

  handle(request: DnsRequest): DnsResponse | Promise<DnsResponse> {
    const block = blockFor(request.name, this.blocks)
    if (block === undefined) throw new Error('no block')
    return block.handler(request)
  }

  /** `NOERROR 10.0.0.1/30`: the code, and data and lifetime of each answer. Time goes on until there is an answer. */
  async ask(name: string, type = 'A', like: Partial<DnsRequest> = {}): Promise<string> {
    let text: string | undefined
    const request: DnsRequest = { ...ownRequest(name, recordTypeNumber(type) ?? 0), protocol: 'udp', ...like }
    void (async () => {
      try {
        const { rcode, answers } = await this.handle(request)
        text = [
          rcodeName(rcode),
          ...answers.map(
            (record) => `${'address' in record ? record.address : 'target' in record ? record.target : record.type}/${record.ttlSeconds}`,
          ),
        ].join(' ')
      } catch (error) {
        text = `SERVFAIL (${error instanceof Error ? error.message : error})`
      }
    })()
    await this.clock.settle()
    for (let waitedMs = 0; text === undefined && waitedMs < 60_000; waitedMs += 10) await this.clock.advance(10)
    return text ?? 'no answer'
  }
}
