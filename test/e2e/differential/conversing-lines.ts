import { type Chapter, linesOf } from './lines.ts'

/** Logs, and what refuses conversations with containers: compared with v1.36 alone, whose words they are. */
export const conversing: Chapter = {
  name: 'logs and conversations',
  byHand: true,
  lines: [
    ...linesOf(`
    create deployment web --image=nginx:1 --replicas=2
    create deployment none --image=nginx:1 --replicas=0
    run p1 --image=nginx
    create cm one
    create service clusterip s1 --tcp=80
    create service externalname e1 --external-name=a.b
    `),
    {
      run: 'apply -f -',
      input:
        '{apiVersion: v1, kind: Pod, metadata: {name: two, labels: {t: two}}, spec: {initContainers: [{name: i, image: x, command: ["true"]}], containers: [{name: a, image: nginx}, {name: b, image: nginx}]}}',
    },
    {
      run: 'apply -f -',
      input:
        '{apiVersion: v1, kind: Pod, metadata: {name: ann, annotations: {kubectl.kubernetes.io/default-container: b}}, spec: {containers: [{name: a, image: nginx}, {name: b, image: nginx}]}}',
    },
    {
      run: 'apply -f -',
      input:
        '{apiVersion: v1, kind: Pod, metadata: {name: ann2, annotations: {kubectl.kubernetes.io/default-container: zz}}, spec: {containers: [{name: a, image: nginx}, {name: b, image: nginx}]}}',
    },
    {
      run: 'apply -f -',
      input: '{apiVersion: v1, kind: Pod, metadata: {name: pend}, spec: {nodeSelector: {no: such}, containers: [{name: a, image: nginx}]}}',
    },
    ...linesOf(`
    wait pod/p1 pod/two pod/ann pod/ann2 --for=condition=Ready --timeout=60s
    wait deploy/web --for=condition=Available --timeout=60s
    logs
    logs a b c
    logs nosuch
    logs pod/nosuch
    logs deploy/nosuch
    logs nosuch/x
    logs p1 x
    logs p1 -c x
    logs p1 -c p1 p1
    logs p1 p1 -c ''
    logs p1 p1
    logs p1 -l a=b
    logs p1 p1 -l a=b
    logs -l a=b
    logs -l a=b -f
    logs -l 'a=('
    logs -l app=web --tail=1
    logs -l app=web --prefix --tail=1
    logs deploy/web --tail=1
    logs deploy web --tail=1
    logs deploy/web --all-pods --tail=1
    logs deploy/none --pod-running-timeout=1s
    logs deploy/none --pod-running-timeout=0s
    logs deploy/none --pod-running-timeout=-1s
    logs cm/one
    logs svc/s1 --pod-running-timeout=1s
    logs svc/e1 --pod-running-timeout=1s
    logs two
    logs two -c i
    logs two -c nosuch
    logs two nosuch
    logs two --all-containers
    logs two --all-containers -c a
    logs two --all-containers --prefix --tail=1
    logs ann
    logs ann2
    logs pend
    logs pend --ignore-errors
    logs pend -f --pod-running-timeout=1s
    logs pend -f --pod-running-timeout=1s --ignore-errors
    logs p1 -p
    logs p1 --since=1h --since-time=2020-01-01T00:00:00Z
    logs p1 --since=-1s
    logs p1 --since=0s
    logs p1 --since=1500ms
    logs p1 --since=400ms
    logs p1 --since=x
    logs p1 --since-time=x
    logs p1 --since-time=2020-01-01T00:00:00Z --tail=1
    logs p1 --tail=-2
    logs p1 --tail=-1
    logs p1 --tail=x
    logs p1 --tail=0
    logs p1 --limit-bytes=-1
    logs p1 --limit-bytes=0 --tail=1
    logs p1 --limit-bytes=1
    logs p1 --limit-bytes=x
    logs p1 --tail=-2 --since=-1s --limit-bytes=-1
    logs p1 -c x --all-containers --since=-1s
    logs p1 p1 -c p1 --all-containers
    logs nosuch --tail=-2
    logs nosuch -c x --all-containers
    logs -l app=web -f --max-log-requests=1
    logs -l app=web --max-log-requests=1 --tail=0
    logs p1/x
    logs pod/p1/x
    logs pods/
    logs ''
    logs nodes/sim-node-1
    logs p1 -A
    logs p1 --pod-running-timeout=x
    logs p1 --all-pods --tail=1
    logs -l app=web --all-containers --all-pods --tail=1
    logs p1 --timestamps --tail=0
    logs job/nosuch
    exec
    exec p1
    exec p1 ls
    exec p1 --
    exec nosuch -- ls
    exec pod/nosuch -- ls
    exec nosuch/p1 -- ls
    exec two -c nosuch -- ls
    exec ann2 -- ls
    exec pod/p1/x -- ls
    exec pod/ -- ls
    exec '' -- ls
    exec cm/one -- ls
    exec deploy/none --pod-running-timeout=1s -- ls
    exec deploy/none --pod-running-timeout=0s -- ls
    exec pend -- ls
    exec p1 p2 -- ls
    exec -f {dir}/nosuch.yaml -- ls
    attach
    attach nosuch
    attach a b c
    attach cm/one
    attach cm one
    attach two -c nosuch
    attach ann2
    attach pend
    attach deploy/none --pod-running-timeout=1s
    attach deploy/none --pod-running-timeout=0s
    attach ''
    port-forward
    port-forward p1
    port-forward nosuch 80
    port-forward cm/one 80
    port-forward p1 x
    port-forward p1 80:x
    port-forward p1 x:80
    port-forward p1 :0
    port-forward p1 0
    port-forward p1 1:2:3
    port-forward p1 ''
    port-forward pend 80
    port-forward svc/s1 81
    port-forward svc/s1 http
    port-forward svc/nosuch 80
    port-forward deploy/none 80 --pod-running-timeout=1s
    port-forward deploy/none 80 --pod-running-timeout=0s
    port-forward p1 nosuch
    port-forward p1 80 --address=x
    port-forward pod/p1/x 80
    cp
    cp a
    cp a b c
    cp a b
    cp p1:/x p2:/y
    cp {dir}/nosuch p1:/x
    cp nosuch:/x {own}/y
    cp p1:/x {own}/y -c nosuch
    cp p1: {own}/y
    cp {dir}/cm.yaml p1:
    cp {dir}/cm.yaml a/b/c:/x
    cp {dir}/cm.yaml :/x
    `),
  ],
}
