import { MessageChannel } from 'node:worker_threads'
import { systemClock } from '#base/clock.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { MemoryStore } from '#store/memory/memory-store.ts'
import { serveStore } from '#store/thread/serve-store.ts'
import { openThreadStore } from '#store/thread/thread-store.ts'
import { describeStore } from './store.ts'

// Messages are copied and arrive later between the two ends of a channel in one thread, as they do between two threads.
describeStore({
  name: 'memory, used from another thread',
  async open() {
    const clock = Object.assign(new VirtualClock(), { soon: systemClock.soon })
    const memory = new MemoryStore({ clock })
    const { port1: owner, port2: user } = new MessageChannel()
    const serving = serveStore(memory, {
      post: (message) => owner.postMessage(message),
      onMessage: (receive) => void owner.on('message', receive),
    })
    const store = await openThreadStore(clock, {
      post: (request) => user.postMessage(request),
      onMessage: (receive) => void user.on('message', receive),
    })
    return {
      store,
      clock,
      async [Symbol.asyncDispose]() {
        await store.close()
        serving[Symbol.dispose]()
        await memory.close()
        owner.close()
        user.close()
      },
    }
  },
})
