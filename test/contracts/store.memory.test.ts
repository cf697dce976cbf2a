import { VirtualClock } from '#base/virtual-clock.ts'
import { MemoryStore } from '#store/memory/memory-store.ts'
import { describeStore } from './store.ts'

describeStore({
  name: 'memory',
  async open() {
    const clock = new VirtualClock()
    const store = new MemoryStore({ clock })
    return { store, clock, [Symbol.asyncDispose]: () => store.close() }
  },
})
