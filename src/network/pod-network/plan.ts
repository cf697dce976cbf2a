/** What a node's kernel should hold, so that pods of this node and of the others reach each other. */

/** A node of the cluster, as far as the network of pods is concerned. */
export type Peer = {
  name: string
  /** The pieces of the pods' addresses that lie on it, one for each family. */
  podCidrs: readonly string[]
  /** Where other nodes reach it, one for each family. */
  addresses: readonly string[]
  /** How it says it wants to be reached; absent where it has not said so yet. */
  backend?: { type: string; data: BackendData; dataV6: BackendData }
  /** It hands on to others what it hears of routes, for those of this cluster of reflectors. */
  reflectorClusterId?: string
  /** Its end of Calico's tunnels; `mac`: where they are of frames. */
  tunnel?: { address: string; mac?: string } | undefined
}

/** What Flannel's annotations say of a node's devices. */
export type BackendData = { VNI?: number; VtepMAC?: string; PublicKey?: string }

/** Where this node's traffic to others leaves it. */
export type Uplink = { interface: string; mtu: number; address: string; range: string; addressV6?: string; rangeV6?: string }

export type WantedLink = {
  name: string
  /** As `ip link add NAME` takes it: `type vxlan id 1 …`. A link of this name that was made otherwise is made anew. */
  type: string
  mtu: number
  /** The link's own; the kernel's choice where absent. */
  mac?: string
  addresses: readonly string[]
}
export type WantedRoute = { to: string; via?: string; device?: string; isOnLink?: boolean; isBlackhole?: boolean }
export type WantedNeighbour = { address: string; device: string; mac: string }
/** Frames for `mac` go to the node at `address`. */
export type WantedForwarding = { mac: string; device: string; address: string }

export type Plan = {
  links: readonly WantedLink[]
  routes: readonly WantedRoute[]
  neighbours: readonly WantedNeighbour[]
  forwarding: readonly WantedForwarding[]
  /** Nodes that cannot be reached this way, and why. */
  problems: readonly string[]
}

export const joined = (one: Plan, other: Plan): Plan => ({
  links: [...one.links, ...other.links],
  routes: [...one.routes, ...other.routes],
  neighbours: [...one.neighbours, ...other.neighbours],
  forwarding: [...one.forwarding, ...other.forwarding],
  problems: [...one.problems, ...other.problems],
})

export const emptyPlan: Plan = { links: [], routes: [], neighbours: [], forwarding: [], problems: [] }

/** Routes are known by this number as ours, whoever asks and whenever. */
export const routeProtocol = 84

export const isIpv6 = (address: string): boolean => address.includes(':')
export const ofFamily = (values: readonly string[], like: string): string | undefined =>
  values.find((value) => isIpv6(value) === isIpv6(like))
