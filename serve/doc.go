// Package serve answers HTTP requests with the predictions of a trained model, and changes the
// graph meanwhile.
//
//	layers.GCN  datasets.Data            POST /changes
//	      │          │                        │
//	      │     graph.Overlay ◀── apply ◀── log (fsync)
//	      ▼          │
//	 GET /nodes/{id}, POST /predict
//
// No embedding is kept. A prediction reads the neighbourhood of its node in one version of the
// graph, and is exact: it has the bits of the same model on a graph that is built anew from the
// changes. Readers do not wait for writers. Changes are in the log, on disk, before they are
// answered.
//
// Features that were made of the graph at loading (degree, position) stay as they are.
// Out of scope: authentication and encryption, which belong to a proxy in front; training on
// changed graphs, for which Server.Data makes a data set.
package serve
