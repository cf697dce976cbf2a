import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Event } from '#api/core/v1/types.gen.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import { type LogRecord, recordingLogger } from '#base/log.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { tellStory } from '#cmd/up/cluster-story.ts'

test('a storm of events is told in one line, and one at the end of the minute', async () => {
  const clock = new VirtualClock(Date.parse('2026-01-01T10:00:00Z'))
  const records: LogRecord[] = []
  let follower: (event: V1Event, isDeleted: boolean) => void = () => {}
  const onChange = (_kind: unknown, callback: typeof follower) => {
    follower = callback
    return { [Symbol.dispose]() {} }
  }
  using _story = tellStory({ cluster: { onChange } as unknown as ClusterView, clock, logger: recordingLogger(records) })
  const event = (reason: string, message: string, more: Partial<V1Event> = {}): V1Event => ({
    metadata: { name: reason, creationTimestamp: new Date(clock.now()).toISOString() as V1Event['metadata']['creationTimestamp'] & string },
    involvedObject: { kind: 'Pod', namespace: 'default', name: 'web' },
    reason,
    message,
    ...more,
  })
  for (let pod = 0; pod < 50; pod++) follower(event('Evicted', 'The node was low on memory'), false)
  follower(event('Pulled', 'Container image "nginx" already present on machine'), false)
  follower(event('Pulled', 'Successfully pulled image "nginx" in 2s'), false)
  follower(event('Scheduled', 'nobody asked'), false)
  follower(event('BackOff', 'again', { count: 2 }), false)
  follower(event('Evicted', 'of yesterday', { metadata: { creationTimestamp: '2025-12-31T10:00:00Z' } as V1Event['metadata'] }), false)
  await clock.advance({ seconds: 61 })
  assert.deepEqual(
    records.map(({ message, fields }) => [message, fields['more'] ?? fields['image'] ?? fields['message']]),
    [
      ['pod evicted', 'The node was low on memory'],
      ['image pulled', 'nginx'],
      ['pod evicted', 49],
    ],
  )
})
