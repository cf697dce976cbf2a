/** Ways to ask too much of a server beside long lists, in the order in which they are tried. */
import { tenant } from './access-attacks.ts'
import { sleep, type WholeAttack } from './attack-outcome.ts'
import {
  continuationFlood,
  idleConnections,
  pingFlood,
  rapidReset,
  settingsFlood,
  slowBodies,
  slowHeaders,
  unreadWatches,
} from './connection-attacks.ts'
import { bombs, documents, largeLists } from './document-attacks.ts'
import { endlessPipelining, pipelinedUpgrades, tunnels, webSocketPings } from './protocol-attacks.ts'
import { futureRevisions, reading, unknownReaders } from './reading-attacks.ts'

/** What another client waits for on this machine without anybody attacking. */
const nothing: WholeAttack = async (_, scale) => {
  await sleep(5000 * scale)
  return { requests: 1, slowestMs: 0, answered: 0 }
}

export const otherAttacks: Readonly<Record<string, WholeAttack>> = {
  nothing,
  documents,
  bombs,
  tenant,
  'rapid reset': rapidReset,
  'ping flood': pingFlood,
  'settings flood': settingsFlood,
  'continuation flood': continuationFlood,
  tunnels,
  'pipelined upgrades': pipelinedUpgrades,
  'endless pipelining': endlessPipelining,
  'websocket pings': webSocketPings,
  'slow headers': slowHeaders,
  'slow bodies': slowBodies,
  'idle connections': idleConnections,
  'unknown readers': unknownReaders,
  'future revisions': futureRevisions,
  reading,
  'unread watches': unreadWatches,
  'large lists': largeLists,
}
